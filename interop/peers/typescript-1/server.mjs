// The story's server on the official TypeScript SDK, first line: standard streams, HTTP or HTTP+SSE.
//
//   node server.mjs stdio | http | sse
//
// Over HTTP it says `listening on URL` on standard error. The steps that it answers are in ../README.md.

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout } from 'node:timers/promises';

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const PAGE = 3;
const PAUSE = 50;

const schema = (properties) => ({ type: 'object', properties, required: Object.keys(properties) });
const NAME = schema({ name: { type: 'string' } });
const text = (words) => ({ content: [{ type: 'text', text: words }] });

async function count({ to }, extra) {
    const progressToken = extra._meta?.progressToken;
    for (let progress = 1; progressToken !== undefined && progress <= to; progress += 1) {
        const params = { progressToken, progress, total: to };
        await extra.sendNotification({ method: 'notifications/progress', params });
        // This SDK's client forgets progress that arrives together with the result.
        await setTimeout(PAUSE);
    }
    return text(`counted to ${to}`);
}

function story() {
    const server = new McpServer({ name: 'interop-typescript-1', version: '1.0.0' });
    const tool = (name, description, inputSchema, run) => server.registerTool(name, { description, inputSchema }, run);
    tool('echo', 'Says it again', { text: z.string() }, async (given) => text(given.text));
    tool('count', 'Counts, and says how far it is', { to: z.number().int() }, count);
    tool('greet', 'Asks for a name', {}, async (_given, extra) => {
        const question = { message: 'What is your name?', requestedSchema: NAME };
        const answer = await server.server.elicitInput(question, { relatedRequestId: extra.requestId });
        return text(`Hello, ${answer.content?.name}!`);
    });
    tool('fail', 'Fails, always', {}, async () => ({ ...text('It failed on purpose'), isError: true }));
    const config = { description: 'A greeting', mimeType: 'text/plain' };
    server.registerResource('greeting', 'story://greeting', config, async (uri) => ({
        contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'Hello from the story' }],
    }));
    const argsSchema = { topic: z.string() };
    server.registerPrompt('summarise', { description: 'Asks for a summary', argsSchema }, async ({ topic }) => ({
        messages: [{ role: 'user', content: { type: 'text', text: `Summarise ${topic}` } }],
    }));
    inPages(server);
    return server;
}

// The SDK lists everything at once; the story wants two pages.
function inPages(server) {
    const tools = [
        { name: 'echo', description: 'Says it again', inputSchema: schema({ text: { type: 'string' } }) },
        { name: 'count', description: 'Counts, and says how far it is', inputSchema: schema({ to: { type: 'integer' } }) },
        { name: 'greet', description: 'Asks for a name', inputSchema: schema({}) },
        { name: 'fail', description: 'Fails, always', inputSchema: schema({}) },
    ];
    server.server.setRequestHandler(ListToolsRequestSchema, async ({ params }) => {
        const from = Number(params?.cursor ?? 0);
        const next = from + PAGE < tools.length ? { nextCursor: String(from + PAGE) } : {};
        return { tools: tools.slice(from, from + PAGE), ...next };
    });
}

const sessions = new Map();

async function streamable(request, response) {
    let transport = sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
        transport = new StreamableHTTPServerTransport({
            sessionIdGenerator: randomUUID,
            onsessioninitialized: (id) => sessions.set(id, transport),
            onsessionclosed: (id) => sessions.delete(id),
        });
        await story().connect(transport);
    }
    await transport.handleRequest(request, response);
}

async function sse(request, response) {
    if (request.method === 'GET') {
        const transport = new SSEServerTransport('/message', response);
        sessions.set(transport.sessionId, transport);
        response.on('close', () => sessions.delete(transport.sessionId));
        await story().connect(transport);
        return;
    }
    const id = new URL(request.url, 'http://localhost').searchParams.get('sessionId');
    const transport = sessions.get(id);
    if (transport) await transport.handlePostMessage(request, response);
    else response.writeHead(404).end();
}

function serve(answer, path) {
    const http = createServer(async (request, response) => {
        try {
            await answer(request, response);
        } catch (error) {
            console.error(error);
            if (!response.headersSent) response.writeHead(500);
            response.end();
        }
    });
    http.listen(0, '127.0.0.1', () => console.error(`listening on http://127.0.0.1:${http.address().port}${path}`));
}

if (process.argv[2] === 'http') serve(streamable, '/mcp');
else if (process.argv[2] === 'sse') serve(sse, '/sse');
else await story().connect(new StdioServerTransport());
