// The chat: what was said, the calls between, the questions that wait.

import { announce, arrange, fill, h, prose, toast } from "./dom.js";
import { del, get, post } from "./api.js";
import { count, took, visible } from "./text.js";
import { markdown } from "./markdown.js";
import { CallCard } from "./card.js";
import { Composer } from "./composer.js";
import { questionCard } from "./questions.js";

export class ChatPage {
  /** `app` gives the session, servers and models, and makes a session where there is none. */
  constructor(app) {
    this.app = app;
    this.views = new Map();
    this.title = h("h1", {});
    this.model = h("select", { "aria-label": "Model", onchange: () => { app.chosenModel = this.model.value || undefined; } });
    this.meter = h("div", { class: "meter" });
    this.inner = h("div", { class: "log-inner" });
    this.log = h("div", { class: "log", role: "log", "aria-label": "Conversation", tabindex: "0" }, this.inner);
    this.queue = h("div", { class: "queue", hidden: true });
    this.queued = new Map();
    this.welcome = new Welcome();
    this.composer = new Composer({ send: (what) => this.send(what), stop: () => this.stop(), servers: { all: () => app.servers, chosen: () => app.chosenServers, choose: (names) => { app.chosenServers = names; } } });
    this.head = h("div", { class: "chat-head" }, this.title, this.meter, this.model);
    this.element = h("div", { class: "chat" }, this.head, this.log, this.queue, this.composer.element);
    this.stick = true;
    this.log.addEventListener("scroll", () => { this.stick = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 80; });
  }

  /** Another session is shown. */
  reset() {
    this.views.clear();
    this.inner.replaceChildren();
    this.stick = true;
    this.waited = "";
  }

  models(list) {
    fill(this.model, list.map((model) => h("option", { value: model.name }, model.name)));
    this.model.hidden = list.length === 0;
  }

  update() {
    const { session, record } = this.app;
    this.title.textContent = record?.title || "New conversation";
    if (!session || !session.runs.length) {
      this.welcome.update(this.app.servers);
      arrange(this.inner, this.welcome.element);
    } else {
      this.welcome.element.remove();
      for (const run of session.runs) this.view(run).update();
      for (const [id, view] of this.views) {
        if (session.runs.some((run) => run.id === id)) continue;
        view.element.remove();
        this.views.delete(id);
      }
    }
    this.waiting();
    const last = session?.runs.at(-1);
    this.composer.setBusy(Boolean(last && ["running", "input_required"].includes(last.status)));
    this.context(last);
    if (this.stick) this.log.scrollTop = this.log.scrollHeight;
  }

  view(run) {
    let view = this.views.get(run.id);
    if (!view) {
      view = new RunView(this.app, run);
      this.views.set(run.id, view);
      this.inner.append(view.element);
    }
    return view;
  }

  waiting() {
    const waiting = this.app.session?.waiting() ?? [];
    const key = waiting.map((request) => request.request).join();
    if (key === this.waited) return;
    if (waiting.length > (this.waited ? this.waited.split(",").length : 0)) announce(`${waiting.length} question${waiting.length === 1 ? "" : "s"} for you.`);
    this.waited = key;
    this.queue.hidden = waiting.length === 0;
    for (const id of this.queued.keys()) if (!waiting.some((request) => request.request === id)) this.queued.delete(id);
    arrange(this.queue, h("span", {}, waiting.length === 1 ? "One question waits for you:" : `${waiting.length} questions wait for you:`), waiting.slice(0, 6).map((request) => this.way(request)));
  }

  /** The way to a question that waits. */
  way({ request: id, question }) {
    const go = () => { const card = document.getElementById(`ask-${id}`); card?.scrollIntoView({ block: "center" }); card?.focus(); };
    if (!this.queued.has(id)) this.queued.set(id, h("button", { type: "button", class: "small", onclick: go }, visible(question.tool ?? question.server ?? "question")));
    return this.queued.get(id);
  }

  context(run) {
    const model = this.app.models.find((other) => other.name === (this.app.chosenModel ?? this.app.models[0]?.name));
    const usage = run?.lastUsage;
    const cost = this.app.servers.filter((server) => server.state === "ready" && (this.app.chosenServers?.includes(server.name) ?? true)).reduce((sum, server) => sum + (server.token_cost ?? 0), 0);
    const used = usage ? usage.input_tokens + usage.output_tokens : cost;
    if (!used) {
      this.meter.replaceChildren();
      return;
    }
    const limit = model?.context_tokens;
    const cached = usage?.input_tokens ? Math.round((100 * (usage.cached_input_tokens ?? 0)) / usage.input_tokens) : undefined;
    const bar = limit && h("span", { class: "meter-bar", role: "meter", "aria-label": "Context window", "aria-valuenow": String(Math.min(100, Math.round((100 * used) / limit))), "aria-valuemin": "0", "aria-valuemax": "100" }, h("i", { class: "tools" }), h("i", { class: "rest" }));
    if (bar) {
      const share = Math.min(cost, used);
      bar.children[0].style.width = `${(100 * share) / limit}%`;
      bar.children[1].style.width = `${(100 * Math.max(0, used - share)) / limit}%`;
    }
    const title = `Tools ${cost} tokens (estimated)${usage ? `, last request ${usage.input_tokens} read and ${usage.output_tokens} written` : ""}`;
    fill(this.meter, h("span", { title, class: "words" }, `${count(used)}${limit ? ` of ${count(limit)}` : ""} tokens${cached ? `, ${cached} % from the cache` : ""}`), bar);
    this.meter.title = title;
  }

  async send({ input, attachments }) {
    try {
      const session = await this.app.ensureSession();
      this.stick = true;
      await post("/run?wait=false", { input, session, model: this.app.chosenModel, servers: this.app.chosenServers, attachments: attachments.length ? attachments : undefined });
      return true;
    } catch (error) {
      toast(error.message, error.hint);
      return false;
    }
  }

  async stop() {
    const run = this.app.session?.runs.at(-1);
    if (!run) return;
    try {
      await del(`/run/${encodeURIComponent(run.id)}`);
    } catch (error) {
      toast(error.message, error.hint);
    }
  }
}

/** What stands where nothing was asked yet. */
class Welcome {
  constructor() {
    this.ready = h("p");
    this.way = h("a", { href: "#/servers" });
    this.bad = h("p", {}, this.way);
    this.element = h("div", { class: "empty" }, h("h1", {}, "Every tool call, connected"), this.ready);
  }

  update(servers) {
    const key = JSON.stringify(servers.map(({ name, state, tools }) => [name, state, tools]));
    if (key === this.drawn) return;
    this.drawn = key;
    const ready = servers.filter((server) => server.state === "ready");
    const tools = ready.reduce((sum, server) => sum + (server.tools ?? 0), 0);
    const bad = servers.filter((server) => server.state === "failed");
    fill(this.ready, prose(servers.length ? `${ready.length} of ${servers.length} servers are ready, with ${tools} tools. You see every call before it leaves.` : "No server is configured. Add one with `switchboard servers add`, or use the files of another host."));
    this.way.textContent = bad.length === 1 ? `${bad[0].name} does not work` : `${bad.length} servers do not work`;
    if (!bad.length) this.bad.remove();
    else if (!this.bad.isConnected) this.element.append(this.bad);
  }
}

/** One question with its answer. */
class RunView {
  constructor(app, run) {
    Object.assign(this, { app, session: app.session, run, made: new Map() });
    this.user = h("div", { class: "user" });
    this.items = h("div", { class: "said" });
    this.foot = h("div", { class: "run-foot" });
    this.goOn = h("button", { type: "button", class: "small", onclick: () => this.resume() }, "Go on");
    this.way = h("a", { href: `#/lifecycle/${encodeURIComponent(run.id)}` }, "Lifecycle");
    this.element = h("section", { class: "said", "data-run": run.id, "aria-label": `Question: ${run.question.slice(0, 80)}` }, this.user, this.items, this.foot);
  }

  update() {
    const { run } = this;
    if (this.user.textContent !== run.question) {
      fill(this.user, run.question);
      this.element.setAttribute("aria-label", `Question: ${run.question.slice(0, 80)}`);
    }
    for (const item of run.items) this.item(item);
    this.end();
  }

  item(item) {
    let view = this.made.get(item);
    if (!view) {
      view = VIEWS[item.type](item, this);
      this.made.set(item, view);
      this.items.append(view.element);
    }
    view.update();
  }

  /** What to do about a failure stands in the run and not in its journal. Only the last is asked for. */
  async advise() {
    const { run } = this;
    if (run.hint !== undefined || this.session.runs.at(-1) !== run) return;
    run.hint = "";
    try {
      run.hint = (await get(`/run/${encodeURIComponent(run.id)}`)).error?.hint ?? "";
      this.end();
    } catch {
      // The cause is there all the same.
    }
  }

  async resume() {
    this.goOn.disabled = true;
    try {
      await post(`/run/${encodeURIComponent(this.run.id)}/resume?wait=false`);
    } catch (error) {
      toast(error.message, error.hint);
    } finally {
      this.goOn.disabled = false;
    }
  }

  end() {
    const { run } = this;
    const left = this.session.left.has(run.id);
    const key = JSON.stringify([run.status, run.error, run.usage, left, run.hint]);
    if (key === this.drawn) return;
    if (run.status === "failed") this.advise();
    this.drawn = key;
    const live = run.status === "running" || run.status === "input_required";
    this.element.setAttribute("aria-busy", String(live));
    const facts = [run.ended && took(run.ended - run.at), run.usage && (run.usage.input_tokens || run.usage.output_tokens) && `${count(run.usage.input_tokens + run.usage.output_tokens)} tokens`, run.selector];
    arrange(this.foot, run.status === "failed" && h("div", { class: "failed" }, visible(run.error ?? "The run failed."), run.hint && h("div", {}, prose(run.hint))), run.status === "cancelled" && h("span", {}, "Stopped."),
      left && h("span", {}, "The host was ended in the middle of this."), left && this.goOn,
      live ? !left && h("span", {}, run.status === "input_required" ? "waits for you" : "working…") : facts.filter(Boolean).map((fact) => h("span", {}, fact)), this.way);
  }
}

/** How much longer the text that is being written waits to be laid out again than that took. */
const WAITS = 8;

const VIEWS = {
  text(item, view) {
    const element = h("div", { class: "prose" });
    // The router lays its answers out in columns, which are no Markdown.
    const columns = view.run.selector?.startsWith("router");
    let shown, later, next = 0;
    return { element, update() {
      element.classList.toggle("writing", item.open);
      if (shown === item.text) return;
      const begun = performance.now();
      if (item.open && begun < next) {
        later ??= setTimeout(() => { later = undefined; view.app.draw(); }, next - begun);
        return;
      }
      shown = item.text;
      fill(element, columns ? h("pre", { class: "columns", tabindex: "0", "aria-label": "Answer" }, visible(item.text)) : markdown(item.text));
      // The whole is laid out again for what was added: the longer that takes, the longer the next one waits.
      const now = performance.now();
      next = now + WAITS * (now - begun);
    } };
  },
  thinking(item) {
    const body = h("div");
    const element = h("details", { class: "think" }, h("summary", {}, "Thinking"), body);
    return { element, update() { if (body.textContent !== item.text) body.textContent = item.text; } };
  },
  note(item) {
    return { element: h("p", { class: "note" }, visible(item.text)), update() {} };
  },
  call(item, view) {
    return new CallCard(view.session, view.run, item);
  },
  request(item, view) {
    const element = h("div");
    return { element, update() {
      const request = view.session.pending.get(item.request);
      if (Boolean(request) === Boolean(element.firstChild)) return;
      fill(element, request && questionCard(request));
    } };
  },
};
