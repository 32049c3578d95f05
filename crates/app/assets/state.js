// What a session looks like, made of its journal, entry by entry. It is bounded: of a long session the oldest runs
// are let go of, and only counted.

const MAX_RUNS = 100;
const MAX_ENTRIES = 4000;
const MAX_TEXT = 400_000;

/** One session. `apply` takes the next entry of its journal and says which run it changed. */
export class SessionState {
  constructor(id) {
    this.id = id;
    this.runs = [];
    this.dropped = 0;
    this.pending = new Map();
    /** Runs that nobody works on until somebody says so. */
    this.left = new Set();
    this.last = 0;
    this.servers = new Map();
    /** What happened outside of any run: servers found, tools declared. */
    this.prelude = [];
  }

  run(id, entry) {
    let run = this.runs.find((other) => other.id === id);
    if (!run) {
      run = {
        id, at: entry.unix_ms, question: "", status: "running", items: [], calls: new Map(), entries: [],
        left: 0, usage: undefined, error: undefined, stage: "selection", step: 0,
      };
      this.runs.push(run);
      if (this.runs.length > MAX_RUNS) {
        this.runs.shift();
        this.dropped += 1;
      }
    }
    return run;
  }

  apply(entry) {
    if (entry.seq <= this.last) return undefined;
    this.last = entry.seq;
    const { event } = entry;
    if (event.stage === "discovery" && event.server) this.servers.set(event.server, event);
    const current = entry.run ?? this.runs.findLast((run) => run.status === "running" || run.status === "input_required")?.id;
    if (!current) {
      this.before(entry);
      return undefined;
    }
    const run = this.run(current, entry);
    if (!isPiece(event) && !declared(run.entries, entry)) {
      run.entries.push(declaration(entry));
      if (run.entries.length > MAX_ENTRIES) {
        run.entries.splice(run.entries.findIndex((kept) => kept.event.what === "wire" || kept.event.what === "progress") || 0, 1);
        run.left += 1;
      }
    }
    if (event.stage !== "run") run.stage = event.stage;
    (HANDLERS[`${event.stage}.${event.what}`] ?? HANDLERS[event.stage])?.(run, event, entry, this);
    return run;
  }

  isOver(id) {
    return this.runs.some((run) => run.id === id && run.ended !== undefined);
  }

  before(entry) {
    if (declared(this.prelude, entry)) return;
    this.prelude.push(declaration(entry));
    if (this.prelude.length > 200) this.prelude.shift();
  }

  /** The questions that wait, the oldest first. */
  waiting() {
    return [...this.pending.values()];
  }
}

/** Tools are declared by the hundred: they are told as one for each server. */
function declaration(entry) {
  const { event } = entry;
  return event.stage === "declaration" ? { ...entry, event: { stage: "declaration", what: "tools", server: event.server, tools: event.tools ?? [event.tool], kept: event.kept } } : entry;
}

/** Adds a tool to what its server has declared just before. */
function declared(entries, { event }) {
  const last = entries.at(-1)?.event;
  if (event.stage !== "declaration" || last?.stage !== "declaration" || last.server !== event.server) return false;
  last.tools.push(...(event.tools ?? [event.tool]));
  return true;
}

export function isPiece(event) {
  return event.stage === "selection" && ["text_delta", "thinking_delta", "call_started"].includes(event.what);
}

function call(run, number, entry) {
  let found = run.calls.get(number);
  if (!found) {
    found = { type: "call", call: number, state: "selected", at: entry.unix_ms, wire: [], requests: [] };
    run.calls.set(number, found);
    run.items.push(found);
  }
  return found;
}

/** The text that is being written, or a new one. */
function writing(run, type) {
  const lastItem = run.items.at(-1);
  if (lastItem?.type === type && lastItem.open) return lastItem;
  const item = { type, text: "", open: true };
  run.items.push(item);
  return item;
}

function close(run) {
  for (const item of run.items) if (item.open) item.open = false;
}

function settle(run, session, reason) {
  for (const [id, request] of session.pending) {
    if (request.run === run.id) session.pending.delete(id);
  }
  for (const item of run.calls.values()) {
    if (["selected", "asking", "allowed", "running"].includes(item.state)) item.state = reason;
  }
}

const HANDLERS = {
  "run.begun": (run, event, entry) => { run.question = event.question; run.at = entry.unix_ms; },
  "run.resumed": (run, event, entry, session) => {
    run.status = "running";
    session.left.delete(run.id);
    close(run);
    // What was under way then may have been done or not; nobody knows.
    for (const item of run.calls.values()) if (item.state === "running") item.state = "outcome unknown";
    run.items.push({ type: "note", text: "The host was started again; the run goes on where it was." });
  },
  "run.ended": (run, event, entry, session) => {
    close(run);
    session.left.delete(run.id);
    run.status = event.status;
    run.usage = event.usage;
    run.error = event.error;
    run.ended = entry.unix_ms;
    settle(run, session, event.status === "cancelled" ? "interrupted" : "not made");
  },
  "selection.question": (run, event) => { if (!run.question) run.question = event.text; },
  "selection.asked": (run, event) => { close(run); run.step = event.step; run.selector = event.selector; run.offered = event.tools; },
  "selection.text_delta": (run, event) => { const item = writing(run, "text"); if (item.text.length < MAX_TEXT) item.text += event.text; },
  "selection.thinking_delta": (run, event) => { const item = writing(run, "thinking"); if (item.text.length < MAX_TEXT) item.text += event.text; },
  "selection.answered": (run, event, entry) => {
    const open = run.items.findLast((item) => item.type === "text" && item.open);
    if (open) open.text = event.text || open.text;
    else if (event.text) run.items.push({ type: "text", text: event.text, open: false });
    close(run);
    for (const asked of event.calls) {
      const item = call(run, asked.call, entry);
      Object.assign(item, { name: asked.name, arguments: asked.arguments });
    }
    if (event.usage) run.lastUsage = event.usage;
  },
  "selection.corrected": (run, event, entry) => { Object.assign(call(run, event.call, entry), { state: "corrected", problem: event.problem, name: event.name }); },
  "selection.repeated": (run, event, entry) => { Object.assign(call(run, event.call, entry), { state: "repeated", name: event.name }); },
  "selection.empty": (run) => { run.items.push({ type: "note", text: "The model returned nothing and is asked once more." }); },
  "selection.note": (run, event) => { run.items.push({ type: "note", text: event.text }); },
  "authorization.asked": (run, event, entry) => {
    Object.assign(call(run, event.call, entry), { state: "asking", server: event.server, tool: event.tool, arguments: event.arguments, rule: event.rule });
  },
  "authorization.requested": (run, event, entry, session) => {
    const request = { run: run.id, request: event.request, call: event.call, question: event.question, at: entry.unix_ms };
    session.pending.set(event.request, request);
    run.status = "input_required";
    if (event.call !== undefined) call(run, event.call, entry).requests.push(event.request);
    else run.items.push({ type: "request", request: event.request });
  },
  "authorization.answered": (run, event, entry, session) => gone(run, event, session),
  "authorization.withdrawn": (run, event, entry, session) => gone(run, event, session),
  "authorization.granted": (run, event, entry) => {
    Object.assign(call(run, event.call, entry), { state: "allowed", server: event.server, tool: event.tool, by: event.by });
  },
  "authorization.denied": (run, event, entry) => {
    Object.assign(call(run, event.call, entry), { state: "denied", server: event.server, tool: event.tool, problem: event.reason, rule: event.rule });
  },
  "invocation.started": (run, event, entry) => {
    Object.assign(call(run, event.call, entry), { state: "running", server: event.server, tool: event.tool, arguments: event.arguments, since: entry.unix_ms });
  },
  "execution.progress": (run, event, entry) => { call(run, event.call, entry).progress = event; },
  "execution.cancelled": (run, event, entry) => { call(run, event.call, entry).cancelled = true; },
  "execution.wire": (run, event, entry) => {
    if (event.call === undefined) return;
    const item = run.calls.get(event.call);
    if (item && item.wire.length < 200) item.wire.push({ at: entry.unix_ms, direction: event.direction, message: event.message });
  },
  result: (run, event, entry) => {
    const item = call(run, event.call, entry);
    item.took = event.took_ms;
    item.outcome = event.outcome;
    if (event.outcome.what === "returned") item.state = event.outcome.is_error ? "tool error" : "done";
    else item.state = event.outcome.maybe_executed ? "outcome unknown" : "failed";
  },
  "integration.added": (run, event) => {
    const item = run.calls.get(event.call);
    if (item) Object.assign(item, { forModel: event.text, leftOut: event.left_out_bytes, artefacts: event.artefacts ?? item.artefacts });
  },
  "integration.finished": (run, event) => {
    close(run);
    // The answer is there already where its model wrote it piece by piece.
    if (event.text && run.items.at(-1)?.type !== "text") run.items.push({ type: "text", text: event.text, open: false });
    run.steps = event.steps;
  },
  "integration.stopped": (run, event) => { run.error ??= event.reason; },
};

function gone(run, event, session) {
  session.pending.delete(event.request);
  if (![...session.pending.values()].some((request) => request.run === run.id) && run.status === "input_required") run.status = "running";
}
