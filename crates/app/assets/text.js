// How values are written for people: JSON with everything visible, sizes, times.

import { h } from "./dom.js";

// Control, bidirectional, zero-width and other characters that change or hide what is read.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|[\u{e0000}-\u{e0fff}]/gu;

/** Text with every invisible character spelled out, as nodes. */
export function visible(text) {
  const nodes = [];
  let at = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > at) nodes.push(text.slice(at, found.index));
    const code = found[0].codePointAt(0).toString(16).padStart(4, "0");
    nodes.push(h("span", { class: "hid", title: "an invisible character" }, `\\u{${code}}`));
    at = found.index + found[0].length;
  }
  nodes.push(text.slice(at));
  return nodes;
}

const LONG = 4000;

/** A value as JSON. Long strings are cut behind a button that shows the rest; nothing is hidden for good. */
export function json(value, label = "JSON") {
  return h("pre", { class: "json", tabindex: "0", "aria-label": label }, nodes(value, 0));
}

function nodes(value, depth) {
  const pad = "  ".repeat(depth + 1);
  if (typeof value === "string") return string(value);
  if (value === null || typeof value !== "object") return h("span", { class: "n" }, String(value));
  const list = Array.isArray(value);
  const entries = Object.entries(value);
  if (!entries.length) return list ? "[]" : "{}";
  const out = [list ? "[\n" : "{\n"];
  entries.forEach(([key, inner], index) => {
    out.push(pad);
    if (!list) out.push(h("span", { class: "k" }, visible(JSON.stringify(key))), ": ");
    out.push(depth > 40 ? "…" : nodes(inner, depth + 1), index + 1 < entries.length ? ",\n" : "\n");
  });
  out.push("  ".repeat(depth), list ? "]" : "}");
  return out;
}

function string(text) {
  const quoted = JSON.stringify(text);
  if (quoted.length <= LONG) return h("span", { class: "s" }, visible(quoted));
  const rest = h("button", { type: "button", class: "small" }, `show all ${size(text.length)}`);
  const span = h("span", { class: "s" }, visible(quoted.slice(0, LONG)), "… ", rest);
  rest.addEventListener("click", () => span.replaceChildren(...visible(quoted)));
  return span;
}

export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB"];
  let value = bytes, unit = -1;
  do { value /= 1000; unit += 1; } while (value >= 1000 && unit < 2);
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function took(ms) {
  if (ms === undefined || ms === null) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function count(number) {
  return number >= 1000 ? `${(number / 1000).toFixed(number < 10_000 ? 1 : 0)}k` : String(number);
}

export function ago(unixMs) {
  const seconds = Math.max(0, (Date.now() - unixMs) / 1000);
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(unixMs).toLocaleDateString();
}

export function clock(unixMs) {
  return new Date(unixMs).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}
