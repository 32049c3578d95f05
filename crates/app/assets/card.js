// A call of a tool as a card: whose it is, what it is called with, how far it is, and what came of it.

import { Tabs, arrange, h, toast } from "./dom.js";
import { del } from "./api.js";
import { json, size, took, visible } from "./text.js";
import { questionCard } from "./questions.js";

const WORDS = {
  selected: ["chosen", ""], asking: ["waits for you", "warm"], allowed: ["allowed", ""], running: ["running", "warm"], done: ["done", "good"],
  denied: ["not allowed", "bad"], "tool error": ["the tool failed", "bad"], failed: ["failed", "bad"], "outcome unknown": ["outcome unknown", "bad"],
  corrected: ["cannot be made", "bad"], repeated: ["made before", ""], interrupted: ["interrupted", "bad"], "not made": ["not made", ""],
};

/** Keeps one card up to date; what a person has opened stays open. */
export class CallCard {
  constructor(session, run, call) {
    Object.assign(this, { session, run, call, open: false, cards: new Map(), panels: new Map() });
    this.head = h("div", { class: "call-head" });
    this.body = h("div", { class: "call-body", hidden: true });
    this.asks = h("div", {});
    this.bar = h("div", { class: "progress", role: "progressbar", hidden: true }, h("i"));
    this.barText = h("span", { class: "small muted" });
    this.element = h("article", { class: "card call", "data-call": call.call, "aria-label": `Call of ${call.tool ?? call.name}` }, this.head, this.asks, this.body);
    this.toggle = h("button", { type: "button", class: "call-toggle", "aria-label": "Details", "aria-expanded": "false", onclick: () => this.setOpen(!this.open) });
    this.end = h("span", { class: "end" });
    this.stop = h("button", { type: "button", class: "small", onclick: () => this.cancel() }, "Cancel");
  }

  setOpen(open) {
    this.open = open;
    this.toggle.setAttribute("aria-expanded", String(open));
    this.drawnBody = undefined;
    this.update();
  }

  update() {
    const { call } = this;
    const [word, tone] = WORDS[call.state] ?? [call.state, ""];
    const live = call.state === "running" || call.state === "allowed";
    this.element.classList.toggle("waits", call.state === "asking");
    this.element.classList.toggle("is-bad", tone === "bad");
    const info = this.session.servers.get(call.server);
    const key = JSON.stringify([call.state, call.server, call.tool, call.name, call.took, call.cancelled, info?.revision]);
    if (key !== this.drawnHead) {
      this.drawnHead = key;
      arrange(this.end, h("span", { class: `state-word ${tone}` }, call.cancelled && live ? "cancel sent, server still running" : word), call.took !== undefined && h("span", {}, took(call.took)), live && !call.cancelled && this.stop);
      arrange(this.head, this.toggle,
        call.server && h("span", { class: `badge ${info?.session ? "legacy" : "modern"}`, title: info?.revision ? `revision ${info.revision}` : undefined }, visible(call.server), info && ` · ${info.session ? "legacy" : "modern"}`),
        h("span", { class: "name" }, visible(call.tool ?? call.name ?? "")), this.end);
    }
    this.progress(live);
    this.questions();
    this.details();
  }

  progress(live) {
    const { progress } = this.call;
    this.bar.hidden = !live || !progress;
    this.barText.textContent = live && progress?.message ? progress.message : "";
    if (!this.bar.isConnected) this.element.insertBefore(h("div", { class: "bar-row" }, this.barText, this.bar), this.asks);
    if (this.bar.hidden) return;
    const share = progress.total > 0 ? Math.min(1, Math.max(0, progress.done / progress.total)) : undefined;
    this.bar.classList.toggle("unknown", share === undefined);
    if (share === undefined) this.bar.removeAttribute("aria-valuenow");
    else {
      this.bar.setAttribute("aria-valuenow", String(Math.round(share * 100)));
      this.bar.firstChild.style.width = `${share * 100}%`;
    }
  }

  /** A question stays as it is while others come and go: somebody may be filling it in. */
  questions() {
    const waiting = this.call.requests.filter((id) => this.session.pending.has(id));
    for (const id of this.cards.keys()) if (!waiting.includes(id)) this.cards.delete(id);
    for (const id of waiting) if (!this.cards.has(id)) this.cards.set(id, questionCard(this.session.pending.get(id)));
    arrange(this.asks, waiting.map((id) => this.cards.get(id)));
    this.asks.classList.toggle("call-asks", waiting.length > 0);
  }

  async cancel() {
    try {
      await del(`/run/${encodeURIComponent(this.run.id)}/calls/${this.call.call}`);
    } catch (error) {
      toast(error.message, error.hint);
    }
  }

  details() {
    this.body.hidden = !this.open;
    if (!this.open) return;
    const { call } = this;
    const key = JSON.stringify([call.state, call.wire.length, call.forModel?.length, call.artefacts?.length]);
    if (key === this.drawnBody) return;
    this.drawnBody = key;
    const entries = this.entries();
    const chosen = call.outcome?.result ? Math.max(1, entries.findIndex(([name]) => name === "Text")) : 0;
    if (this.tabs) this.tabs.renew(entries, chosen);
    else this.tabs = new Tabs("Details of the call", entries, chosen);
    arrange(this.body, this.tabs.element, call.by && h("p", { class: "small muted" }, "Allowed by ", visible(call.by)), call.rule && !call.by && h("p", { class: "small muted" }, "Asked by ", visible(call.rule)));
  }

  entries() {
    const { call } = this;
    const result = call.outcome?.result;
    const text = (result?.content ?? []).filter((block) => block.type === "text").map((block) => block.text).join("\n\n") || call.problem || call.outcome?.message;
    const entries = [["Arguments", () => this.panel("Arguments", call.arguments, () => json(call.arguments ?? {}, "Arguments"))]];
    if (text) entries.push(["Text", () => this.panel("Text", text, () => h("div", { class: "text", tabindex: "0" }, visible(text)))]);
    if (result?.structuredContent !== undefined) entries.push(["Structured", () => this.panel("Structured", result, () => json(result.structuredContent, "Structured content"))]);
    const artefacts = artefactsOf(call);
    if (artefacts.length) entries.push([`Artefacts (${artefacts.length})`, () => this.panel("Artefacts", call.artefacts ?? result, () => h("div", { class: "artefacts" }, artefacts.map(artefact)))]);
    if (call.forModel !== undefined) entries.push(["For the model", () => this.panel("For the model", call.forModel, () => h("div", { class: "text", tabindex: "0" }, call.leftOut && h("p", { class: "muted" }, `${size(call.leftOut)} were left out; the whole is kept.`), visible(call.forModel)))]);
    if (call.wire.length) entries.push(["Wire", () => this.wire()]);
    return entries;
  }

  /** A panel, made again only where what it shows is another. */
  panel(name, shown, make) {
    const kept = this.panels.get(name);
    if (kept?.shown === shown) return kept.element;
    const element = make();
    this.panels.set(name, { shown, element });
    return element;
  }

  /** The wire only grows. */
  wire() {
    const list = this.panel("Wire", this.call, () => h("div"));
    for (const line of this.call.wire.slice(list.children.length)) list.append(wireRow(line));
    return list;
  }
}

/** One message of the wire, closed at first. */
export function wireRow({ at, direction, message, text }) {
  const title = message?.method ?? (message?.error ? `error ${message.error.code}` : message ? "result" : "");
  return h("details", { class: "wire-row" },
    h("summary", {}, h("span", { class: direction }, direction === "sent" ? "→" : "←"), h("span", {}, new Date(at).toISOString().slice(11, 23)), h("span", {}, title, " ", (text ?? JSON.stringify(message)).slice(0, 160))),
    message ? json(message) : h("div", { class: "text" }, visible(text ?? "")));
}

function artefactsOf(call) {
  if (call.artefacts?.length) return call.artefacts;
  return (call.outcome?.result?.content ?? []).filter((block) => block.type !== "text").map((block) => ({ kind: block.type, inline: block, name: block.name, mime_type: block.mimeType }));
}

function artefact(item) {
  const mime = item.mime_type ?? "";
  const path = item.id && `/artefacts/${encodeURIComponent(item.id)}`;
  const source = path ?? (item.inline?.data && /^(image|audio)\//.test(mime) ? `data:${mime};base64,${item.inline.data}` : undefined);
  const name = item.name ?? item.uri ?? item.id ?? item.kind;
  const picture = item.kind === "image" && source && /^image\/(png|jpeg|gif|webp)$/.test(mime) && h("img", { src: source, alt: name, loading: "lazy" });
  return h("div", { class: "artefact" }, picture, h("span", {}, h("span", { class: "badge" }, item.kind.replace("_", " ")), " ", visible(name)), h("span", { class: "muted" }, mime, item.bytes !== undefined && ` · ${size(item.bytes)}`), path && h("a", { href: path, download: "" }, "Save"));
}
