// The story's server on the official TypeScript SDK, second line: every era, standard streams or HTTP.
//
//   node server.mjs stdio | http
//
// Over HTTP it says `listening on URL` on standard error. The steps that it answers are in ../README.md.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';

import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import { McpServer, acceptedContent, createMcpHandler, inputRequired, isLegacyRequest } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const PAGE = 3;
const PAUSE = 50;
const NAME = z.object({ name: z.string() });

const text = (words) => ({ content: [{ type: 'text', text: words }] });

async function count({ to }, ctx) {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progressToken !== undefined && progress <= to; progress += 1) {
        const params = { progressToken, progress, total: to };
        await ctx.mcpReq.notify({ method: 'notifications/progress', params });
        // This SDK's client forgets progress that arrives together with the result.
        await setTimeout(PAUSE);
    }
    return text(`counted to ${to}`);
}

async function greet(ctx) {
    const answer = acceptedContent(ctx.mcpReq.inputResponses, 'name', NAME);
    if (answer) return text(`Hello, ${answer.name}!`);
    const question = inputRequired.elicit({ message: 'What is your name?', requestedSchema: NAME });
    return inputRequired({ inputRequests: { name: question } });
}

function story() {
    const server = new McpServer({ name: 'interop-typescript', version: '1.0.0' });
    const tool = (name, description, inputSchema, run) => server.registerTool(name, { description, inputSchema }, run);
    tool('echo', 'Says it again', z.object({ text: z.string() }), async (given) => text(given.text));
    tool('count', 'Counts, and says how far it is', z.object({ to: z.number().int() }), count);
    tool('greet', 'Asks for a name', undefined, greet);
    tool('fail', 'Fails, always', undefined, async () => ({ ...text('It failed on purpose'), isError: true }));
    const config = { description: 'A greeting', mimeType: 'text/plain' };
    server.registerResource('greeting', 'story://greeting', config, async (uri) => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'Hello from the story' }],
    }));
    const argsSchema = z.object({ topic: z.string() });
    server.registerPrompt('summarise', { description: 'Asks for a summary', argsSchema }, async ({ topic }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Summarise ${topic}` } }],
    }));
    inPages(server);
    return server;
}

// The SDK lists everything at once; the story wants two pages.
function inPages(server) {
    const schema = (properties) => ({ type: 'object', properties, required: Object.keys(properties) });
    const tools = [
        { name: 'echo', description: 'Says it again', inputSchema: schema({ text: { type: 'string' } }) },
        { name: 'count', description: 'Counts, and says how far it is', inputSchema: schema({ to: { type: 'integer' } }) },
        { name: 'greet', description: 'Asks for a name', inputSchema: schema({}) },
        { name: 'fail', description: 'Fails, always', inputSchema: schema({}) },
    ];
    server.server.setRequestHandler('tools/list', async ({ params }) => {
        const from = Number(params?.cursor ?? 0);
        const next = from + PAGE < tools.length ? { nextCursor: String(from + PAGE) } : {};
        return { tools: tools.slice(from, from + PAGE), ...next };
    });
}

// One transport a legacy session: only with sessions can the server ask something back.
const sessions = new Map();

async function legacy(request, response) {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
        transport = new NodeStreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            onsessioninitialized: (id) => sessions.set(id, transport),
            onsessionclosed: (id) => sessions.delete(id),
        });
        await story().connect(transport);
    }
    await transport.handleRequest(request, response, request.body);
}

async function body(request) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    return chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
}

function serveHttp() {
    const modern = toNodeHandler(createMcpHandler(story, { legacy: 'reject' }));
    const http = createServer(async (request, response) => {
        try {
            request.body = await body(request);
            const isLegacy = await isLegacyRequest(await toWebRequest(request, request.body), request.body);
            await (isLegacy ? legacy(request, response) : modern(request, response, request.body));
        } catch (error) {
            console.error(error);
            if (!response.headersSent) response.writeHead(500);
            response.end();
        }
    });
    http.listen(0, '127.0.0.1', () => console.error(`listening on http://127.0.0.1:${http.address().port}/mcp`));
}

if (process.argv[2] === 'http') serveHttp();
else serveStdio(story);
