// The story's client on the official TypeScript SDK, second line.
//
//   node client.mjs ERA stdio COMMAND ARG… | node client.mjs ERA http URL
//
// ERA is `modern`, `legacy` or `auto`. Prints one JSON object for each step, and ends with 1 at the first that fails.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const TIMEOUT = { timeout: 20_000 };
const MODES = { modern: { pin: '2026-07-28' }, legacy: 'legacy', auto: 'auto' };

const [era, transport, ...target] = process.argv.slice(2);
const without = (process.env.INTEROP_WITHOUT ?? '').split(',');

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

const client = new Client(
    { name: 'interop-typescript', version: '1.0.0' },
    { versionNegotiation: { mode: MODES[era] }, capabilities: { elicitation: { form: {} } } },
);
client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ada' } }));

const call = (name, args, options = {}) => client.callTool({ name, arguments: args }, { ...TIMEOUT, ...options });
const words = (result) => result.content.map((block) => block.text).join();

await step('connect', async () => {
    const [command, ...args] = target;
    const wire =
        transport === 'http'
            ? new StreamableHTTPClientTransport(new URL(target[0]))
            : new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' });
    await client.connect(wire, TIMEOUT);
    return client.getNegotiatedProtocolVersion();
});
await step('list', async () => {
    const { tools } = await client.listTools(undefined, TIMEOUT);
    const names = tools.map((tool) => tool.name);
    for (const name of ['echo', 'count', 'fail']) expect(names.includes(name), `no ${name} in ${names}`);
    return `${names.length} tools`;
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
