// A model that plays scenes over the OpenAI wire: what it answers depends on the question and on how often it was
// asked since, so that a host that starts again finds it where it was.

import { createServer } from "node:http";

/** `scenes`: by the question, the turns `{think, say, hold, call: [[name, arguments]]}`. */
export async function startModel(scenes) {
  const held = new Set();
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += piece;
    if (request.method === "GET") {
      response.writeHead(404).end();
      return;
    }
    const { messages } = JSON.parse(text);
    const at = messages.findLastIndex((message) => message.role === "user");
    const question = plain(messages[at].content);
    const asked = messages.slice(at).filter((message) => message.role === "assistant").length;
    const scene = scenes[Object.keys(scenes).find((known) => question.startsWith(known))];
    const turn = scene?.[asked] ?? { say: `You said: ${question.slice(0, 200)}` };
    const said = typeof turn.say === "function" ? turn.say(plain(messages.at(-1).content), messages) : turn.say;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta, more = {}) => response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`);
    if (turn.think) send({ reasoning_content: turn.think });
    const words = (said ?? "").split(/(?<= )/);
    for (const [index, word] of words.entries()) {
      if (turn.hold && index === Math.ceil(words.length / 2)) await new Promise((release) => held.add(release));
      if (word) send({ content: word });
    }
    (turn.call ?? []).forEach(([name, argument], index) => send({ tool_calls: [{ index, id: `call_${asked}_${index}`, type: "function", function: { name, arguments: JSON.stringify(argument) } }] }));
    const usage = { prompt_tokens: 900 + text.length % 400, completion_tokens: 40, prompt_tokens_details: { cached_tokens: 640 } };
    response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: turn.call ? "tool_calls" : "stop" }], usage })}\n\n`);
    response.end("data: [DONE]\n\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    /** Lets go on what holds. */
    release() {
      for (const release of held) release();
      held.clear();
    },
    close() {
      this.release();
      server.closeAllConnections();
      server.close();
    },
  };
}

function plain(content) {
  return typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n");
}
