// What the official client makes of one server of the corpus: connects over stdio, lists everything, calls one tool.
//
//   node reference.mjs '{"command": …, "args": […], "env": {…}, "cwd": …, "tool": …, "arguments": {…}}'
//
// Prints one JSON object. It is run when our own client fails, to see whose fault that is.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport, getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';

const TIMEOUT = 60_000;

const subject = JSON.parse(process.argv[2]);
const report = { ok: false, step: 'connect' };
const began = Date.now();
const client = new Client(
    { name: 'interop-reference', version: '1.0.0' },
    { versionNegotiation: { mode: 'auto', probe: { timeoutMs: 5_000 } }, capabilities: {} },
);

async function list(capability, method, key) {
    if (!client.getServerCapabilities()?.[capability]) return undefined;
    report.step = `list ${key}`;
    return (await client[method](undefined, { timeout: TIMEOUT }))[key];
}

try {
    const transport = new StdioClientTransport({
        command: subject.command,
        args: subject.args ?? [],
        env: { ...getDefaultEnvironment(), ...subject.env },
        cwd: subject.cwd,
        stderr: 'ignore',
    });
    await client.connect(transport, { timeout: TIMEOUT });
    report.revision = client.getNegotiatedProtocolVersion();
    const tools = await list('tools', 'listTools', 'tools');
    report.tools = tools?.length;
    report.milliseconds = Date.now() - began;
    report.resources = (await list('resources', 'listResources', 'resources'))?.length;
    report.templates = (await list('resources', 'listResourceTemplates', 'resourceTemplates'))?.length;
    report.prompts = (await list('prompts', 'listPrompts', 'prompts'))?.length;
    if (subject.tool) {
        report.step = `call ${subject.tool}`;
        const call = { name: subject.tool, arguments: subject.arguments ?? {} };
        const result = await client.callTool(call, { timeout: TIMEOUT });
        report.failed = result.isError === true;
        report.said = JSON.stringify(result.content ?? result.structuredContent).slice(0, 200);
    }
    report.step = 'close';
    await client.close();
    report.ok = true;
} catch (error) {
    report.error = `${error?.message ?? error}`.slice(0, 400);
}
console.log(JSON.stringify(report));
process.exit(report.ok ? 0 : 1);
