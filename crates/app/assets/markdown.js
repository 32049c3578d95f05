// Markdown as elements: headings, lists, tables, code, quotes, emphasis, links. No HTML, no images from elsewhere.

import { h } from "./dom.js";

/** The elements of a text. Unfinished constructs, as while a text still streams in, are shown as they stand. */
export function markdown(text) {
  return blocks(text.replaceAll("\r\n", "\n").split("\n"), 0);
}

// What repeats ends where something else must follow, so that each line is read once: `\s*` beside `.*` would try every
// way to share a run of spaces.
const FENCE = /^\s{0,3}(`{3,}(?!`)|~{3,}(?!~))([^`]*)$/;
const HEADING = /^\s{0,3}(#{1,6})\s+(\S.*)$/s;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/s;

function blocks(lines, depth) {
  const out = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at];
    let found;
    if (!line.trim()) {
      at += 1;
    } else if ((found = FENCE.exec(line))) {
      at = fence(lines, at, found, out);
    } else if ((found = HEADING.exec(line))) {
      out.push(h(`h${Math.min(found[1].length + 1, 6)}`, {}, inline(heading(found[2]))));
      at += 1;
    } else if (RULE.test(line)) {
      out.push(h("hr"));
      at += 1;
    } else if (/^\s{0,3}>/.test(line) && depth < 8) {
      const from = at;
      while (at < lines.length && /^\s{0,3}>/.test(lines[at])) at += 1;
      const inner = lines.slice(from, at).map((quoted) => quoted.replace(/^\s{0,3}> ?/, ""));
      out.push(h("blockquote", {}, blocks(inner, depth + 1)));
    } else if (ITEM.test(line) && depth < 8) {
      at = list(lines, at, depth, out);
    } else if (line.includes("|") && cells(lines[at + 1] ?? "").every((cell) => /^:?-+:?$/.test(cell))) {
      at = table(lines, at, out);
    } else {
      at = paragraph(lines, at, out);
    }
  }
  return out;
}

/** A heading may be closed by the marks that opened it. */
function heading(text) {
  let end = text.trimEnd().length;
  while (end > 0 && text[end - 1] === "#") end -= 1;
  return end === 0 || text[end - 1] === " " ? text.slice(0, end).trimEnd() : text.trimEnd();
}

function fence(lines, start, found, out) {
  const mark = found[1];
  let at = start + 1;
  while (at < lines.length && !lines[at].trim().startsWith(mark)) at += 1;
  const code = lines.slice(start + 1, at).join("\n");
  const copy = h("button", { type: "button", class: "small quiet copy" }, "Copy");
  copy.addEventListener("click", async () => {
    await navigator.clipboard?.writeText(code);
    copy.textContent = "Copied";
  });
  const language = found[2].trim().split(/\s/)[0];
  out.push(h("figure", { class: "code" }, h("figcaption", {}, language, copy), h("pre", { tabindex: "0" }, h("code", {}, code))));
  return at + 1;
}

function list(lines, start, depth, out) {
  const [, indent, mark] = ITEM.exec(lines[start]);
  const ordered = /\d/.test(mark);
  const items = [];
  let at = start;
  while (at < lines.length) {
    const found = ITEM.exec(lines[at]);
    if (found && found[1].length <= indent.length + 1 && /\d/.test(found[2]) === ordered) {
      if (found[1].length < indent.length) break;
      items.push([found[3]]);
    } else if (/^\s+\S/.test(lines[at]) || (!lines[at].trim() && /^\s{2,}\S/.test(lines[at + 1] ?? ""))) {
      items.at(-1).push(lines[at].replace(new RegExp(`^\\s{0,${indent.length + 3}}`), ""));
    } else if (!lines[at].trim() && ITEM.test(lines[at + 1] ?? "")) {
      // A loose list goes on after an empty line.
    } else {
      break;
    }
    at += 1;
  }
  const first = ordered ? Number.parseInt(mark, 10) : undefined;
  out.push(h(ordered ? "ol" : "ul", { start: first === 1 ? undefined : first }, items.map((item) => h("li", {}, tight(item, depth)))));
  return Math.max(at, start + 1);
}

/** The one paragraph of a short item needs no element of its own. */
function tight(item, depth) {
  const inner = blocks(item, depth + 1);
  return inner[0]?.tagName === "P" ? [...inner[0].childNodes, ...inner.slice(1)] : inner;
}

function cells(line) {
  return line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function table(lines, start, out) {
  const aligns = cells(lines[start + 1]).map((mark) => (mark.endsWith(":") ? (mark.startsWith(":") ? "center" : "end") : undefined));
  const row = (line, tag) => h("tr", {}, cells(line).map((cell, index) => h(tag, { class: aligns[index] && `to-${aligns[index]}` }, inline(cell))));
  const head = row(lines[start], "th");
  const rows = [];
  let at = start + 2;
  while (at < lines.length && lines[at].includes("|") && lines[at].trim()) rows.push(row(lines[at++], "td"));
  out.push(h("div", { class: "table", tabindex: "0" }, h("table", {}, h("thead", {}, head), h("tbody", {}, rows))));
  return at;
}

function paragraph(lines, start, out) {
  let at = start + 1;
  const ends = (line) => !line.trim() || FENCE.test(line) || HEADING.test(line) || ITEM.test(line) || /^\s{0,3}>/.test(line);
  while (at < lines.length && !ends(lines[at])) at += 1;
  out.push(h("p", {}, inline(lines.slice(start, at).join("\n"))));
  return at;
}

// One alternative each, without nested repetition, and with a bound on what it looks ahead: a text of any kind is read
// in time that grows with its length alone.
const SPAN = /\*\*(?=\S)([^*\n]{1,2000}?)\*\*|__(?=\S)([^_\n]{1,2000}?)__(?!\w)|\*(?=\S)([^*\n]{1,2000}?)\*|(?<!\w)_(?=\S)([^_\n]{1,2000}?)_(?!\w)|~~(?=\S)([^~\n]{1,2000}?)~~|!?\[([^[\]\n]{0,500})\]\(<?([^\s()<>]{0,2000})>?\)|(https?:\/\/[^\s<>"')\]]{1,2000})|\\([\\`*_{}[\]()#+\-.!|~>])|( {2}\n|\\\n)/g;
const LONGEST = 20_000;

function inline(text, depth = 0) {
  // What is longer is no prose: it is shown as it stands.
  if (depth > 6 || text.length > LONGEST) return [text];
  const out = [];
  for (const [piece, isCode] of codes(text)) out.push(...(isCode ? [h("code", {}, piece.trim() || piece)] : plain(piece, depth)));
  return out;
}

/** Splits a text at its spans of code: a run of backticks ends at the next run of the same length. */
function codes(text) {
  const runs = [...text.matchAll(/`+/g)];
  const later = new Map();
  runs.forEach((run, at) => {
    const length = run[0].length;
    if (!later.has(length)) later.set(length, []);
    later.get(length).push(at);
  });
  const out = [];
  let from = 0, at = 0;
  while (at < runs.length) {
    const same = later.get(runs[at][0].length);
    while (same.length && same[0] <= at) same.shift();
    if (!same.length) {
      at += 1;
      continue;
    }
    const end = runs[same[0]];
    const begin = runs[at].index + runs[at][0].length;
    if (runs[at].index > from) out.push([text.slice(from, runs[at].index), false]);
    out.push([text.slice(begin, end.index), true]);
    from = end.index + end[0].length;
    at = same[0] + 1;
  }
  out.push([text.slice(from), false]);
  return out;
}

function plain(text, depth) {
  const out = [];
  let at = 0;
  for (const found of text.matchAll(SPAN)) {
    if (found.index > at) out.push(text.slice(at, found.index));
    out.push(span(found, depth));
    at = found.index + found[0].length;
  }
  out.push(text.slice(at));
  return out;
}

function span(found, depth) {
  const [all, strong, strong2, em, em2, struck, label, target, url, escaped] = found;
  const inner = (text) => inline(text, depth + 1);
  if (strong ?? strong2) return h("strong", {}, inner(strong ?? strong2));
  if (em ?? em2) return h("em", {}, inner(em ?? em2));
  if (struck) return h("del", {}, inner(struck));
  if (target !== undefined) return link(target, label ? inner(label) : [target], all);
  if (url) return link(url, [url], all);
  if (escaped) return escaped;
  return h("br");
}

/** A link opens elsewhere and tells nothing; where it leads is in its title. Anything but http and mailto is text. */
function link(target, label, all) {
  if (!/^(https?:|mailto:)/i.test(target)) return all;
  return h("a", { href: target, title: target, target: "_blank", rel: "noopener noreferrer" }, label);
}
