// Makes elements. Text is always text: nothing that a server or a model says is parsed as HTML.

/** An element: `h("p", {class: "muted", onclick: f}, "text", child)`. Falsy children are left out. */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    parent.append(child instanceof Node ? child : String(child));
  }
}

/** Replaces what is in an element. */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
  return parent;
}

/**
 * Puts just these nodes into an element, in this order. What is there already and stays is not taken out: in the middle
 * of a click it would lose the click. What has to go elsewhere keeps the focus.
 */
export function arrange(parent, ...children) {
  const wanted = children.flat(Infinity).filter((child) => child instanceof Node);
  const focused = parent.contains(document.activeElement) && document.activeElement;
  const stays = new Set(wanted);
  for (const child of [...parent.childNodes]) if (!stays.has(child)) child.remove();
  wanted.forEach((child, at) => { if (parent.childNodes[at] !== child) parent.insertBefore(child, parent.childNodes[at] ?? null); });
  if (focused && focused.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true });
  return parent;
}

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element. */
export function svg(tag, props, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props ?? {})) element.setAttribute(name, String(value));
  append(element, children);
  return element;
}

const ICONS = {
  trash: "M4 6h12M8 6V4h4v2M6 6l1 10h6l1-10",
  clip: "M14.500 8.500l-5.500 5.500a3 3 0 0 1-4.200-4.200l6-6a2 2 0 0 1 2.800 2.800l-6 6",
  tools: "M4 6h8M15 6h1M4 14h1M8 14h8M12 4v4M5 12v4",
  send: "M10 16V4M5 9l5-5 5 5",
  stop: "M6 6h8v8H6z",
};

/** An icon, for a button that has a label of its own. */
export function icon(name) {
  return svg("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}

/**
 * Tabs over panels that are made when they are first shown: `[[label, make], …]`. `renew` takes other entries: what has
 * the same label stays chosen, and a panel that `make` gives again stays as it is.
 */
export class Tabs {
  constructor(label, entries, chosen = 0) {
    this.panel = h("div", { class: "tabpanel", role: "tabpanel", tabindex: "0" });
    this.list = h("div", { class: "tablist", role: "tablist", "aria-label": label, onkeydown: (event) => this.key(event) });
    this.element = h("div", { class: "tabs-box" }, this.list, this.panel);
    this.buttons = new Map();
    this.renew(entries, chosen);
  }

  /** `chosen` counts where nobody has chosen another. */
  renew(entries, chosen = 0) {
    this.entries = entries;
    arrange(this.list, entries.map(([name]) => this.button(name)));
    const kept = entries.findIndex(([name]) => name === this.taken);
    this.show(kept < 0 ? Math.min(chosen, entries.length - 1) : kept);
  }

  button(name) {
    let button = this.buttons.get(name);
    if (!button) {
      button = h("button", { type: "button", role: "tab", onclick: () => this.take(this.entries.findIndex((entry) => entry[0] === name)) }, name);
      this.buttons.set(name, button);
    }
    return button;
  }

  take(at) {
    this.taken = this.entries[at][0];
    this.show(at);
  }

  show(at) {
    [...this.list.children].forEach((button, index) => {
      button.setAttribute("aria-selected", String(index === at));
      button.tabIndex = index === at ? 0 : -1;
    });
    arrange(this.panel, this.entries[at][1]());
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const buttons = [...this.list.children];
    const at = (buttons.findIndex((button) => button.tabIndex === 0) + step + buttons.length) % buttons.length;
    this.take(at);
    buttons[at].focus();
    event.preventDefault();
  }
}

/** Tabs that stay what they are. */
export const tabs = (...all) => new Tabs(...all).element;

/** A short word to whoever looks or listens. */
export function announce(text) {
  const live = document.getElementById("live");
  live.textContent = "";
  live.textContent = text;
}

/** A text in which commands stand between backticks, as nodes. */
export function prose(text) {
  return text.split("`").map((part, at) => (at % 2 ? h("code", {}, part) : part));
}

/** Something went wrong: says what, and what to do. */
export function toast(text, hint) {
  const box = document.getElementById("toasts");
  const entry = h("div", { class: "toast" }, h("div", {}, prose(text), hint && h("div", { class: "small" }, prose(hint))));
  entry.append(h("button", { type: "button", class: "small", onclick: () => entry.remove() }, "Close"));
  box.append(entry);
  while (box.children.length > 4) box.firstChild.remove();
}
