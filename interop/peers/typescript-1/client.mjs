// The story's client on the official TypeScript SDK, first line.
//
//   node client.mjs ERA stdio COMMAND ARG… | node client.mjs ERA http URL | node client.mjs ERA sse URL
//
// ERA is ignored: this line knows the legacy era alone. Prints one JSON object for each step, and ends with 1 at the
// first that fails.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const TIMEOUT = { timeout: 20_000 };

const [, transport, ...target] = process.argv.slice(2);
const without = (process.env.INTEROP_WITHOUT ?? '').split(',');
const [command, ...args] = target;
const OPEN = {
    stdio: () => new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' }),
    http: () => new StreamableHTTPClientTransport(new URL(command)),
    sse: () => new SSEClientTransport(new URL(command)),
};

function expect(condition, what) {
    if (!condition) throw new Error(what);
}

async function step(name, run) {
    if (without.includes(name)) return;
    try {
        console.log(JSON.stringify({ step: name, ok: true, detail: await run() }));
    } catch (error) {
        console.log(JSON.stringify({ step: name, ok: false, detail: `${error?.message ?? error}` }));
        process.exit(1);
    }
}

const client = new Client({ name: 'interop-typescript-1', version: '1.0.0' }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'accept', content: { name: 'Ada' } }));

const call = (name, args, options = {}) =>
    client.callTool({ name, arguments: args }, undefined, { ...TIMEOUT, ...options });
const words = (result) => result.content.map((block) => block.text).join();

await step('connect', async () => {
    const wire = OPEN[transport]();
    let revision;
    // The only word that the SDK has for the revision: it tells the transport, which may not listen.
    wire.setProtocolVersion = ((told) => (version) => {
        revision = version;
        told?.call(wire, version);
    })(wire.setProtocolVersion);
    await client.connect(wire, TIMEOUT);
    return revision;
});
await step('list', async () => {
    const names = [];
    let [cursor, pages] = [undefined, 0];
    do {
        const page = await client.listTools(cursor ? { cursor } : undefined, TIMEOUT);
        names.push(...page.tools.map((tool) => tool.name));
        [cursor, pages] = [page.nextCursor, pages + 1];
    } while (cursor);
    for (const name of ['echo', 'count', 'fail']) expect(names.includes(name), `no ${name} in ${names}`);
    return `${names.length} tools on ${pages} pages`;
});
await step('call', async () => {
    const said = words(await call('echo', { text: 'hello' }));
    expect(said === 'hello', `echo said ${said}`);
    return said;
});
await step('progress', async () => {
    let seen = 0;
    const said = words(await call('count', { to: 3 }, { onprogress: () => (seen += 1) }));
    expect(said === 'counted to 3' && seen >= 2, `${said}, ${seen} times progress`);
    return `${seen} times`;
});
await step('elicit', async () => {
    const said = words(await call('greet', {}));
    expect(said === 'Hello, Ada!', `greet said ${said}`);
    return said;
});
await step('fail', async () => {
    const result = await call('fail', {});
    expect(result.isError === true, `fail is no error: ${JSON.stringify(result)}`);
    return words(result);
});
await step('read', async () => {
    const { contents } = await client.readResource({ uri: 'story://greeting' }, TIMEOUT);
    expect(contents[0].text === 'Hello from the story', JSON.stringify(contents));
    return contents[0].text;
});
await step('prompt', async () => {
    const { messages } = await client.getPrompt({ name: 'summarise', arguments: { topic: 'tea' } }, TIMEOUT);
    expect(messages[0].content.text === 'Summarise tea', JSON.stringify(messages));
    return messages[0].content.text;
});
await step('close', async () => {
    await client.transport?.terminateSession?.();
    await client.close();
});
process.exit(0);
