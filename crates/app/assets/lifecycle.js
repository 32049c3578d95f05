// The picture of a run: who said what to whom, in order, with the nine stages marked. Drawn from the journal alone.

import { get } from "./api.js";
import { arrange, fill, h, tabs } from "./dom.js";
import { clock, json, took, visible } from "./text.js";
import { isPiece } from "./state.js";

const STAGES = ["declaration", "discovery", "exposure", "selection", "authorization", "invocation", "execution", "result", "integration"];
const LANES = [
  ["user", "User", "you"], ["app", "App", "this page"], ["agent", "Agent", "the host"], ["model", "Model", ""],
  ["client", "MCP client", "one a server"], ["server", "MCP server", ""], ["api", "API", "what it acts on"],
];
const AT = Object.fromEntries(LANES.map(([id], index) => [id, index]));
const MAX_ROWS = 1500;

/** The page. `pick(run id)` is called when another run is chosen. */
export class LifecyclePage {
  constructor({ pick }) {
    this.pick = pick;
    this.rows = h("div", { class: "rows" });
    this.detail = h("aside", { class: "detail", "aria-label": "Message", hidden: true });
    this.select = h("select", { "aria-label": "Run", onchange: () => pick(this.select.value) });
    this.facts = h("div", { class: "end" });
    this.chips = h("div", { class: "stages", role: "group", tabindex: "0", "aria-label": "Stages of a tool call" });
    this.lanes = h("div", { class: "lanes", "aria-hidden": "true" });
    const rails = h("div", { class: "rails", "aria-hidden": "true" }, LANES.map(() => h("i")));
    this.chart = h("div", { class: "chart", tabindex: "-1" }, h("div", { class: "chart-inner" }, this.lanes, rails, this.rows));
    this.element = h("div", { class: "life" },
      h("div", { class: "life-head" }, h("h1", {}, "Lifecycle"), this.select, this.facts),
      this.chips,
      h("div", { class: "life-body" }, this.chart, this.detail));
  }

  /** Shows a run; called again whenever it has changed. */
  show(session, runId) {
    const runs = session?.runs ?? [];
    const run = runs.find((other) => other.id === runId) ?? runs.at(-1);
    if (!run) {
      this.element.replaceChildren(h("div", { class: "empty" }, h("h1", {}, "Nothing has run yet"),
        h("p", {}, "Ask something in the chat. Each message between you, the model and the servers then becomes an arrow here.")));
      this.shown = undefined;
      return;
    }
    if (!this.element.contains(this.chart)) {
      this.element.replaceChildren(h("div", { class: "life-head" }, h("h1", {}, "Lifecycle"), this.select, this.facts), this.chips, h("div", { class: "life-body" }, this.chart, this.detail));
    }
    this.choices(runs, run);
    if (this.shown !== run.id) {
      Object.assign(this, { shown: run.id, drawn: 0, count: 0, first: undefined, group: undefined, stages: new Set(), active: new Map() });
      this.rows.replaceChildren();
      this.close();
    }
    this.heads(run, session);
    const near = this.chart.scrollHeight - this.chart.scrollTop - this.chart.clientHeight < 120;
    const fresh = this.drawn > 0;
    if (!fresh) {
      this.first = run.entries[0];
      for (const entry of session.prelude) if (!run.entries.length || entry.seq < run.entries[0].seq) this.draw(entry, false);
    }
    for (const entry of run.entries) if (entry.seq > this.drawn) this.draw(entry, fresh);
    this.marks(run);
    if (near && run.status === "running") this.chart.scrollTop = this.chart.scrollHeight;
  }

  choices(runs, run) {
    const before = new Map([...this.select.options].map((option) => [option.value, option]));
    arrange(this.select, runs.map((other, index) => {
      const option = before.get(other.id) ?? h("option", { value: other.id });
      const text = `${index + 1}. ${(other.question || "…").slice(0, 70)}`;
      if (option.textContent !== text) option.textContent = text;
      return option;
    }));
    this.select.value = run.id;
  }

  heads(run, session) {
    const servers = [...new Set([...run.calls.values()].map((call) => call.server).filter(Boolean))];
    const under = { model: run.selector ?? "", server: servers.join(", ") || `${session.servers.size || ""} connected`.trim() };
    const key = JSON.stringify(under);
    if (key === this.headKey && this.lanes.children.length) return;
    this.headKey = key;
    fill(this.lanes, h("span"), LANES.map(([id, name, small]) => h("div", { class: "lane" }, name.startsWith("MCP ") ? [h("span", { class: "wide-only" }, "MCP "), name.slice(4)] : name, h("small", {}, (under[id] ?? small).slice(0, 40)))));
  }

  marks(run) {
    const end = run.ended ?? run.entries.at(-1)?.unix_ms ?? run.at;
    fill(this.facts, h("span", {}, took(end - run.at)), h("span", {}, `${run.calls.size} call${run.calls.size === 1 ? "" : "s"}`),
      run.usage && h("span", {}, `${run.usage.input_tokens + run.usage.output_tokens} tokens`),
      h("span", { class: `badge ${run.status === "finished" ? "good" : run.status === "failed" ? "bad" : ""}` }, run.status.replace("_", " ")));
    const live = run.status === "running" || run.status === "input_required";
    fill(this.chips, STAGES.map((stage, index) => h("span", { class: `stage-chip ${this.stages.has(stage) ? "seen" : ""} ${live && run.stage === stage ? "now" : ""}`, "data-stage": stage }, h("b", {}, index + 1), stage)));
  }

  draw(entry, fresh) {
    this.drawn = entry.seq;
    if (isPiece(entry.event) || this.count >= MAX_ROWS) return;
    this.first ??= entry;
    for (const message of messages(entry)) {
      this.stages.add(message.stage);
      if (message.group && message.group !== this.group) this.rows.append(this.head(message));
      this.group = message.group ?? this.group;
      for (const lane of message.begins ?? []) this.active.set(lane, (this.active.get(lane) ?? 0) + 1);
      this.rows.append(this.row(entry, message, fresh));
      for (const lane of message.ends ?? []) this.active.set(lane, Math.max(0, (this.active.get(lane) ?? 0) - 1));
      this.count += 1;
    }
    if (this.count >= MAX_ROWS) this.rows.append(h("p", { class: "muted" }, "The rest of this run is in the export of the conversation."));
  }

  /** The bars of those who are at work, behind what is said meanwhile. */
  bars(message) {
    return LANES.filter(([lane]) => this.active.get(lane)).map(([lane]) => {
      const bar = h("i", { class: `bar-act ${message?.begins?.includes(lane) && this.active.get(lane) === 1 ? "begins" : ""} ${message?.ends?.includes(lane) && this.active.get(lane) === 1 ? "ends" : ""}`, "data-lane": lane });
      bar.style.left = `${middle(lane)}%`;
      return bar;
    });
  }

  head({ group }) {
    return h("div", { class: "group" }, h("span", {}, group), h("span", { class: "track" }, this.bars()));
  }

  row(entry, message, fresh) {
    const { from, to, stage, words, bad, back, waiting } = message;
    const since = entry.unix_ms - this.first.unix_ms;
    const number = STAGES.indexOf(stage) + 1;
    const track = h("span", { class: "track" });
    track.append(...this.bars(message));
    const [start, end] = [middle(from), middle(to)];
    if (from === to) {
      const edge = AT[from] >= LANES.length - 2;
      const text = h("span", { class: `words beside ${edge ? "before" : ""}` }, h("span", {}, words));
      Object.assign(text.style, edge ? { right: `${100 - start + 1.7}%`, left: "auto", maxWidth: `${start}%` } : { left: `${start + 1.7}%`, right: "0" });
      const dot = h("span", { class: "loop" });
      dot.style.left = `${start}%`;
      track.append(text, dot);
    } else {
      const [left, width] = [Math.min(start, end), Math.abs(end - start)];
      const text = h("span", { class: "words" }, h("span", {}, words));
      // A short arrow lends its words some room on both sides.
      const room = width < 30 ? Math.min(13, left) : 0;
      Object.assign(text.style, { left: `${left - room}%`, width: `${Math.min(100, width + 2 * room)}%` });
      const shaft = h("span", { class: `shaft ${end > start ? "right" : "left"} ${back ? "back" : ""}` });
      Object.assign(shaft.style, { left: `${left}%`, width: `${width}%` });
      track.append(text, shaft);
    }
    track.querySelector(".words").style.setProperty("--middle", String((start + end) / 2));
    const label = `${stage}: ${name(from)} to ${name(to)}`;
    return h("button", {
      type: "button", class: `row ${bad ? "is-bad" : ""} ${fresh ? "fresh" : ""} ${waiting ? "waiting" : ""}`, "data-stage": stage, "aria-pressed": "false",
      onclick: (event) => this.open(event.currentTarget, entry, message),
    }, h("span", { class: "when" }, h("span", { class: "num", title: stage }, number), h("span", {}, since < 0 ? "before" : `+${took(since)}`)), h("span", { class: "sr" }, label), track);
  }

  open(row, entry, message) {
    for (const other of this.rows.querySelectorAll('[aria-pressed="true"]')) other.setAttribute("aria-pressed", "false");
    row.setAttribute("aria-pressed", "true");
    this.opened = row;
    const facts = [["from", name(message.from)], ["to", name(message.to)], ["stage", `${STAGES.indexOf(message.stage) + 1}. ${message.stage}`], ["at", `${clock(entry.unix_ms)}${entry.unix_ms < this.first.unix_ms ? "" : ` (+${took(entry.unix_ms - this.first.unix_ms)})`}`], message.took !== undefined && ["took", took(message.took)], ["entry", `#${entry.seq}`]].filter(Boolean);
    this.detail.hidden = false;
    fill(this.detail,
      h("header", {}, h("h2", {}, message.title ?? message.words), h("button", { type: "button", class: "small", onclick: () => this.close(true) }, "Close")),
      h("dl", { class: "facts" }, facts.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value)))),
      message.kept ? tabs("Message", [["Message", () => kept(message)], ["Journal entry", () => json(entry.event, "Journal entry")]])
        : message.shown === undefined ? json(entry.event, "Journal entry")
        : tabs("Message", [["Message", () => typeof message.shown === "string" ? h("div", { class: "text" }, visible(message.shown)) : json(message.shown)], ["Journal entry", () => json(entry.event, "Journal entry")]]));
  }

  close(focus) {
    this.detail.hidden = true;
    if (focus) this.opened?.focus();
    this.opened?.setAttribute("aria-pressed", "false");
    this.opened = undefined;
  }
}

/** What the journal only names, because it is the same for many runs. */
function kept({ kept: id, server, shown }) {
  const element = h("div", { class: "text" }, "Loading…");
  get(`/artefacts/${encodeURIComponent(id)}`).then(
    (tools) => fill(element, json(server ? tools.filter((tool) => tool.server === server) : tools)),
    (error) => fill(element, visible(error.message), shown && json(shown)));
  return element;
}

function middle(lane) {
  return ((AT[lane] + 0.5) / LANES.length) * 100;
}

function name(lane) {
  return LANES[AT[lane]][1];
}

/** The arrows of one entry. */
export function messages({ event }) {
  const make = DRAWN[`${event.stage}.${event.what}`] ?? DRAWN[event.stage];
  return make ? make(event).map((message) => ({ stage: STAGES.includes(event.stage) ? event.stage : "integration", ...message })) : [];
}

const tokens = (usage) => (usage ? `, ${usage.input_tokens + usage.output_tokens} tokens` : "");
const call = (event) => (event.call === undefined ? "" : ` #${event.call}`);

const ASKS = { approval: "may it?", form: "a form", url: "an address to visit", sampling: "may it ask the model?", roots: "may it know the folders?", login: "a login" };

const DRAWN = {
  "run.begun": () => [],
  "run.resumed": () => [{ from: "app", to: "app", words: "goes on after a restart", group: "resumed", stage: "selection" }],
  "run.ended": (event) => (event.status === "finished" ? [] : [{ from: "agent", to: "app", back: true, bad: true, words: `${event.status}: ${event.error ?? ""}`, stage: "integration" }]),
  "declaration.tools": (event) => [{ from: "server", to: "client", words: `${event.server} declares ${event.tools.length} tool${event.tools.length === 1 ? "" : "s"}`, shown: event.tools, kept: event.kept, server: event.server, group: "declared" }],
  "discovery.connecting": (event) => [{ from: "client", to: "server", words: `connect ${event.server}`, group: "discovered" }],
  "discovery.opened": (event) => [{ from: "server", to: "client", back: true, words: `${event.server} speaks ${event.revision}`, took: event.took_ms }],
  "discovery.connected": (event) => [{ from: "client", to: "agent", words: `${event.server}: ${event.tools} tool${event.tools === 1 ? "" : "s"}`, took: event.took_ms }],
  "discovery.failed": (event) => [{ from: "server", to: "client", bad: true, words: `${event.server}: ${event.error}` }],
  "discovery.state": (event) => [{ from: "client", to: "agent", bad: event.state === "failed", words: `${event.server} is ${event.state}` }],
  "exposure.offered": (event) => [{ from: "agent", to: "agent", words: `${event.tools.length} tools compiled for the model`, group: "exposed" }],
  "exposure.listed": (event) => [{ from: "agent", to: "agent", words: `${event.tools} tools compiled for the model`, kept: event.kept, group: "exposed" }],
  "exposure.left_out": (event) => [{ from: "agent", to: "agent", words: `left out: ${event.server}/${event.tool}` }],
  "selection.question": (event) => [
    { from: "user", to: "app", words: event.text, title: "The question", shown: event.text, group: "asked" },
    { from: "app", to: "agent", words: "run", title: "The question", shown: event.text, begins: ["agent"] },
  ],
  "selection.asked": (event) => [{ from: "agent", to: "model", words: `${event.messages} messages, ${event.tools} tools`, title: `Step ${event.step}`, group: `step ${event.step}`, begins: ["model"] }],
  "selection.first_token": () => [{ from: "model", to: "model", words: "first piece of the answer" }],
  "selection.answered": (event) => [{
    from: "model", to: "agent", back: true, ends: ["model"], shown: event.calls.length ? event.calls : event.text,
    words: event.calls.length ? event.calls.map((asked) => `${asked.name}${call(asked)}`).join(", ") + tokens(event.usage) : `answers${tokens(event.usage)}`,
  }],
  "selection.corrected": (event) => [{ from: "agent", to: "model", bad: true, words: `${call(event)} cannot be made`, shown: event.problem }],
  "selection.repeated": (event) => [{ from: "agent", to: "model", words: `${call(event)} was made before` }],
  "selection.note": (event) => [{ from: "agent", to: "app", words: event.text }],
  "authorization.asked": (event) => [{ from: "agent", to: "agent", words: `${event.tool}${call(event)}: ask, by ${event.rule}`, shown: event.arguments }],
  "authorization.requested": (event) => [
    { from: "agent", to: "app", words: `question${call(event)}`, shown: event.question },
    { from: "app", to: "user", words: ASKS[event.question.kind] ?? "asks", shown: event.question, begins: ["user"] },
  ],
  "authorization.answered": (event) => [{ from: "user", to: "app", back: true, words: event.answer, ends: ["user"] }, { from: "app", to: "agent", back: true, words: event.answer }],
  "authorization.withdrawn": (event) => [{ from: "agent", to: "app", words: `withdrawn: ${event.reason}`, ends: ["user"] }],
  "authorization.granted": (event) => [{ from: "agent", to: "agent", words: `allowed${call(event)}: ${event.by}` }],
  "authorization.denied": (event) => [{ from: "agent", to: "agent", bad: true, words: `denied${call(event)}: ${event.reason}` }],
  "authorization.elicited": (event) => [{ from: "server", to: "client", words: `asks: ${event.message}` }],
  "authorization.replied": (event) => [{ from: "client", to: "server", back: true, words: event.action }],
  "invocation.started": (event) => [{ from: "agent", to: "client", words: `${event.tool}${call(event)}`, shown: event.arguments, group: `call${call(event)}`, begins: ["client"] }],
  "execution.progress": (event) => [{ from: "server", to: "client", words: event.message ?? progress(event) }],
  "execution.cancelled": (event) => [{ from: "client", to: "server", bad: true, words: `cancel sent${call(event)}; it may still work on it` }],
  "execution.wire": wire,
  result: ({ call: number, outcome, took_ms }) => [{
    from: "client", to: "agent", back: true, took: took_ms, ends: ["client"], bad: outcome.what !== "returned" || outcome.is_error, shown: outcome.result ?? outcome.message,
    words: outcome.what === "returned" ? `${outcome.is_error ? "tool error" : "result"} #${number}, ${took(took_ms)}` : `#${number}: ${outcome.message}`,
  }],
  "integration.added": (event) => [{ from: "agent", to: "agent", words: `result${call(event)} for the model${event.left_out_bytes ? ", shortened" : ""}`, shown: event.text }],
  "integration.finished": (event) => [
    { from: "agent", to: "app", back: true, words: "the answer", shown: event.text, group: "answered", ends: ["agent"] },
    { from: "app", to: "user", back: true, words: "shown", shown: event.text },
  ],
  "integration.stopped": (event) => [{ from: "agent", to: "app", back: true, bad: true, words: event.reason, ends: ["agent"] }],
};

function progress(event) {
  return event.total ? `${Math.round((event.done / event.total) * 100)} %` : `${event.done}`;
}

/** A request that a server carries out also shows that it works on it, with the API behind it. */
function wire({ direction, message, server }) {
  const method = message?.method;
  const sent = direction === "sent";
  const answer = message?.result !== undefined || message?.error !== undefined;
  const title = method ?? (message?.error ? `error ${message.error.code}` : "result");
  const arrow = { from: sent ? "client" : "server", to: sent ? "server" : "client", back: answer, bad: Boolean(message?.error), words: `${title}`, title: `${title}: ${server}`, shown: message };
  const stage = sent && method === "tools/call" ? "invocation" : answer && !sent ? "result" : "execution";
  const ends = !sent && answer && message.id !== undefined;
  const begins = sent && method === "tools/call";
  const out = [{ ...arrow, stage, ...(begins && { begins: ["server"] }), ...(ends && { ends: ["server"] }) }];
  if (sent && method === "tools/call") out.push({ from: "server", to: "api", words: "acts", begins: ["api"], title: "What the server does", shown: "What happens behind a server is its own affair; the protocol does not show it.", stage: "execution" });
  if (!sent && answer && !message.error && message.result?.resultType !== "input_required" && message.result?.content) out.unshift({ from: "api", to: "server", back: true, words: "done", ends: ["api"], title: "What the server did", shown: "What happens behind a server is its own affair; the protocol does not show it.", stage: "execution" });
  return out;
}
