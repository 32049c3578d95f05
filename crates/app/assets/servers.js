// The servers: how each is, what it offers a model, and what it says.

import { arrange, fill, h, tabs, toast } from "./dom.js";
import { get, post } from "./api.js";
import { ago, json, took, visible } from "./text.js";
import { difference } from "./questions.js";
import { wireRow } from "./card.js";

export class ServersPage {
  constructor(app) {
    this.app = app;
    this.cards = new Map();
    this.list = h("div", { class: "stack" });
    this.summary = h("p", { class: "muted" });
    this.element = h("div", { class: "servers" }, h("div", { class: "servers-inner" }, h("div", { class: "servers-head" }, h("h1", {}, "Servers"), this.summary), this.list));
  }

  update() {
    const { servers } = this.app;
    if (!servers.length) {
      fill(this.list, h("div", { class: "empty" }, h("h1", {}, "No server is configured"), h("p", {}, "Add one with ", h("code", {}, "switchboard servers add"), ". Files of Claude, VS Code, Cursor and Codex are read where they are.")));
      return;
    }
    this.list.querySelector(".empty")?.remove();
    const ready = servers.filter((server) => server.state === "ready");
    const cost = ready.reduce((sum, server) => sum + (server.token_cost ?? 0), 0);
    this.summary.textContent = `${ready.length} of ${servers.length} ready, ${ready.reduce((sum, server) => sum + (server.tools ?? 0), 0)} tools, about ${cost} tokens`;
    for (const server of servers) {
      if (!this.cards.has(server.name)) {
        const card = new ServerCard(server.name, () => this.app.chosenModel);
        this.cards.set(server.name, card);
        this.list.append(card.element);
      }
      this.cards.get(server.name).update(server);
    }
    for (const [name, card] of this.cards) {
      if (servers.some((server) => server.name === name)) continue;
      card.element.remove();
      this.cards.delete(name);
    }
  }
}

class ServerCard {
  /** `model()` is the model that tools are shown for, if one was chosen. */
  constructor(name, model) {
    Object.assign(this, { name, model });
    const button = (label, act) => h("button", { type: "button", class: "small", onclick: () => this.act(act) }, label);
    this.buttons = { test: button("Test", "test"), restart: button("Restart", "restart"), stop: button("Stop", "stop") };
    this.acts = new Set();
    this.end = h("span", { class: "end" }, Object.values(this.buttons));
    this.tools = new Map();
    this.head = h("div", { class: "server-head" });
    this.body = h("div");
    this.tested = h("div");
    this.more = h("details", { ontoggle: () => this.open() }, h("summary", { class: "server-more" }, "Tools, log and wire"));
    this.panel = h("div", { class: "server-more" });
    this.more.append(this.panel);
    this.element = h("article", { class: "card server", "data-server": name, "aria-label": `Server ${name}` }, this.head, this.body, this.tested, this.more);
  }

  update(server) {
    const key = JSON.stringify(server);
    if (key === this.drawn) return;
    const toolsChanged = this.server && (this.server.tools !== server.tools || this.server.state !== server.state);
    this.drawn = key;
    this.server = server;
    arrange(this.head, h("span", { class: `dot ${server.state}`, "aria-hidden": "true" }), h("h2", {}, visible(server.name)), h("span", { class: `badge ${server.state === "failed" ? "bad" : server.state === "ready" ? "good" : ""}` }, server.state),
      server.era && h("span", { class: `badge ${server.era}` }, `${server.era} · ${server.revision ?? ""}`), server.required && h("span", { class: "badge" }, "required"), this.end);
    this.enable();
    const facts = [["Identity", server.identity], ["Transport", server.transport], ["From", server.origin], ["Latency", server.latency_ms !== undefined && took(server.latency_ms)], ["Tools", server.left_out ? `${server.tools} of ${server.tools + server.left_out}` : server.tools], ["Tokens", server.token_cost !== undefined && `about ${server.token_cost}`], ["Since", ago(server.since)], ["Restarts", server.restarts || undefined], ["Noise", server.noise_lines ? `${server.noise_lines} lines on stdout that are no messages` : undefined], ["Process", server.pid]];
    fill(this.body, h("dl", { class: "facts" }, facts.filter(([, value]) => value || value === 0).map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, visible(String(value)))))),
      server.last_error && h("div", { class: "trouble", role: "note" }, visible(server.last_error), server.next_step && h("small", {}, "Next: ", visible(server.next_step))));
    if (toolsChanged && this.more.open) this.again?.();
  }

  /** What cannot be done now, or is being done, cannot be pressed. */
  enable() {
    const { state } = this.server;
    const never = { restart: ["disabled"], stop: ["disabled", "stopped", "idle"] };
    for (const [act, button] of Object.entries(this.buttons)) button.disabled = this.acts.has(act) || Boolean(never[act]?.includes(state));
  }

  async act(act) {
    this.acts.add(act);
    this.enable();
    try {
      const got = await post(`/servers/${encodeURIComponent(this.name)}/${act}`);
      if (act === "test") this.report(got);
    } catch (error) {
      toast(`${this.name}: ${error.message}`, error.hint);
    } finally {
      this.acts.delete(act);
      this.enable();
    }
  }

  report(got) {
    fill(this.tested, h("div", { class: "server-more" }, h("ul", { class: "steps" }, got.steps.map((step) => h("li", {}, h("span", { class: `badge ${step.ok ? "good" : "bad"}` }, step.ok ? "ok" : "failed"), h("strong", {}, step.step), h("span", { class: "muted" }, took(step.took_ms)), h("span", {}, visible(step.detail))))), got.next_step && h("p", { class: "small" }, "Next: ", visible(got.next_step)), h("button", { type: "button", class: "small quiet", onclick: () => this.tested.replaceChildren() }, "Close")));
  }

  open() {
    if (!this.more.open) return;
    const path = `/servers/${encodeURIComponent(this.name)}`;
    const later = (load, show, follows) => () => {
      const box = h("div", {}, h("p", { class: "muted" }, "…"));
      const again = () => {
        const turn = (this.turn = {});
        const put = (make) => (got) => { if (turn === this.turn) arrange(box, make(got)); };
        load().then(put(show), put((error) => h("p", { class: "problem" }, error.message, error.hint && ` (${error.hint})`)));
      };
      this.again = follows && again;
      again();
      return box;
    };
    fill(this.panel, tabs("About the server", [
      ["Tools", later(() => get(`${path}/tools${this.model() ? `?model=${encodeURIComponent(this.model())}` : ""}`), (tools) => (tools.length ? this.list(tools) : h("p", { class: "muted" }, "None.")), true)],
      ["Log", later(() => get(`${path}/logs?n=500`), (lines) => h("div", { class: "lines", tabindex: "0" }, lines.length ? lines.map((line) => h("div", { class: line.stream }, h("span", { class: "t" }, new Date(line.unix_ms).toISOString().slice(11, 19), " ", line.stream === "stderr" ? "" : `[${line.stream}] `), visible(line.text))) : "Nothing yet."))],
      ["Wire", later(() => get(`${path}/wire?n=200`), (lines) => (lines.length ? lines.map((line) => wireRow({ at: line.unix_ms, direction: line.sent ? "sent" : "received", ...parsed(line.text) })) : h("p", { class: "muted" }, "Nothing yet.")))],
    ]));
  }

  /** A tool that is as it was stays as it is shown. */
  list(tools) {
    const before = this.tools;
    this.tools = new Map(tools.map((tool) => [JSON.stringify(tool), tool]).map(([key, tool]) => [key, before.get(key) ?? this.tool(tool)]));
    return [...this.tools.values()];
  }

  tool(tool) {
    const pin = tool.pin?.state;
    const body = h("div", { class: "tool-body" });
    const details = h("details", { class: "tool", ontoggle: () => { if (details.open && !body.firstChild) fill(body, this.toolBody(tool)); } },
      h("summary", {}, h("span", { class: "name" }, visible(tool.name)), h("span", { class: "what" }, visible((tool.description ?? "").split("\n")[0])), tool.hidden && h("span", { class: "badge bad" }, "hidden"), tool.lost?.length > 0 && h("span", { class: "badge legacy" }, `${tool.lost.length} lost`), pin && pin !== "pinned" && h("span", { class: "badge bad" }, pin), tool.tokens !== undefined && h("span", { class: "badge" }, `${tool.tokens} tokens`)), body);
    return details;
  }

  toolBody(tool) {
    const accept = async (event) => {
      event.currentTarget.disabled = true;
      try {
        await post(`/servers/${encodeURIComponent(this.name)}/pins/accept`, { tool: tool.name });
        this.again?.();
      } catch (error) {
        toast(error.message, error.hint);
      }
    };
    return [
      tool.description && h("p", { class: "small" }, visible(tool.description)),
      tool.hidden && h("p", { class: "problem small" }, "A model does not see it: ", visible(tool.hidden)),
      tool.pin && tool.pin.state !== "pinned" && h("div", { class: "stack" }, h("p", {}, PINS[tool.pin.state]), tool.pin.difference && difference(tool.pin.difference), h("div", {}, h("button", { type: "button", class: "small", onclick: accept }, tool.pin.state === "gone" ? "Forget it" : "Accept the definition"))),
      tool.schema !== undefined && h("div", { class: "pair" }, h("div", {}, h("h3", {}, "As the server defines it"), json(tool.schema, "Schema as defined")), tool.lowered !== undefined && h("div", {}, h("h3", {}, "As the model sees it: ", h("code", {}, tool.exposed_name ?? "")), json(tool.lowered, "Schema for the model"))),
      tool.lost?.length > 0 && h("div", {}, h("h3", {}, "Lost on the way"), h("ul", { class: "small" }, tool.lost.map((lost) => h("li", {}, h("code", {}, lost.path || "/"), " ", lost.what, ": ", lost.why)))),
    ];
  }
}

const PINS = {
  new: "This tool is new since the server was pinned.", changed: "The definition is not what it was.",
  gone: "The server does not list this tool any more.", unreadable: "What was agreed to before cannot be read.",
};

function parsed(text) {
  try {
    return { message: JSON.parse(text), text };
  } catch {
    return { text };
  }
}
