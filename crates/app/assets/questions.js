// Questions to the person: may this call be made, a form to fill in, an address to open. Whoever answers first, in
// whichever tab, counts.

import { announce, append, h, toast } from "./dom.js";
import { post } from "./api.js";
import { json, visible } from "./text.js";

/** The card of a question that waits. */
export function questionCard(request) {
  const { question } = request;
  const make = { approval, form, url, sampling, roots, login }[question.kind];
  const card = h("section", { class: "ask", id: `ask-${request.request}`, "data-request": request.request, tabindex: "-1" });
  try {
    append(card, make(request, question, card));
    if (question.hidden === true) card.querySelector("h2").after(h("p", {}, "Where it says ***, a secret of the configuration stands."));
  } catch {
    // A question of a kind or a shape that this page does not know is shown as it is, and the page goes on.
    append(card, [h("p", {}, "This page cannot show the question; answer it in the terminal or over the API."), json(question)]);
  }
  return card;
}

async function answer(request, card, reply) {
  const controls = card.querySelectorAll("button, input, select");
  controls.forEach((control) => { control.disabled = true; });
  try {
    await post(`/run/${encodeURIComponent(request.run)}/input?wait=false`, { request: request.request, reply });
    announce("Answered.");
    return true;
  } catch (error) {
    controls.forEach((control) => { control.disabled = false; });
    if (error.status === 409) toast("Somebody answered this already.", "The first answer counts.");
    else toast(error.message, error.hint);
    return false;
  }
}

function rows(entries) {
  return h("dl", {}, entries.filter(([, value]) => value).map(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]));
}

function server(question) {
  return h("span", { class: `badge ${question.session ? "legacy" : "modern"}` }, visible(question.server), question.revision && ` · ${question.revision}`);
}

function approval(request, question, card) {
  const yes = question.offers.filter((offer) => offer.choice !== "deny");
  const scope = h("select", { "aria-label": "How far a yes reaches", "data-scope": "" }, yes.map((offer, index) => h("option", { value: index }, offer.label)));
  // Where it is narrow, the words of a choice do not fit into its field.
  const meant = h("p", { class: "small meant", role: "status" });
  scope.addEventListener("change", () => { meant.textContent = `Allow ${yes[Number(scope.value)].label}`; });
  const send = (offer) => answer(request, card, { kind: "approval", digest: question.digest, choice: offer.choice, rule: offer.rule });
  const { identity, why } = question;
  const preview = question.preview;
  const shown = h("div", {}, h("pre", { class: "json", tabindex: "0", "aria-label": "Arguments" }, preview ?? question.shown));
  const whole = preview && h("button", { type: "button", class: "small", onclick: () => { shown.firstChild.textContent = question.shown; whole.remove(); } }, "Show all of it");
  return [
    h("h2", {}, "Allow this call?", h("span", { class: `badge ${identity.era ?? ""}` }, visible(question.server), identity.revision && ` · ${identity.revision}`)),
    why.kind !== "rule" && h("p", {}, h("strong", {}, WHY[why.kind] ?? ""), why.resembles && [" It looks like ", visible(why.resembles), ", which is gone."]),
    why.difference && difference(why.difference),
    rows([
      ["Tool", h("span", { class: "mono" }, visible(question.tool))],
      ["Title", question.title && visible(question.title)],
      ["Says of itself", question.claims?.length && `${question.claims.map((claim) => claim.replace("_", " ")).join(", ")}${identity.trusted ? "" : " (nobody has checked that)"}`],
      ["Identity", identity.implementation && visible(identity.implementation)],
      ["Asked by", visible(question.rule)],
    ]),
    shown, whole && h("div", {}, whole),
    question.hidden?.length > 0 && h("p", {}, "A secret of the configuration is sent where it says ***: ", visible(question.hidden.join(", "))),
    h("div", { class: "choices" },
      h("button", { type: "button", class: "primary", "data-answer": "allow", onclick: () => send(yes[Number(scope.value)]) }, "Allow"), scope, meant,
      h("button", { type: "button", class: "danger deny", "data-answer": "deny", onclick: () => send({ choice: "deny" }) }, "Deny")),
  ];
}

const WHY = {
  changed: "This tool is not what you agreed to before.", new_tool: "This tool was not there when its server was first seen.",
  unreadable: "What was agreed to before cannot be read.",
};

/** What is different between two definitions, field by field. */
export function difference({ fields }) {
  const mark = { added: "+", removed: "-", same: " ", gap: "…" };
  return h("div", { class: "diff", role: "group", "aria-label": "Difference" }, fields.map((field) => [
    h("strong", {}, field.field, "\n"),
    field.lines.map((line) => h("span", { class: { added: "add", removed: "del" }[line.change] }, `${mark[line.change]}${line.text}`, "\n")),
    field.left_out > 0 && h("span", { class: "muted" }, `… ${field.left_out} more lines\n`),
  ]));
}

function form(request, question, card) {
  const schema = question.schema;
  const fields = Object.entries(schema.properties ?? {});
  const required = new Set(schema.required ?? []);
  const inputs = fields.map(([name, field]) => [name, field, control(name, field, required.has(name), request.request)]);
  const problems = h("p", { class: "wrong", role: "alert" });
  const send = async (event) => {
    event.preventDefault();
    const content = {};
    for (const [name, field, input] of inputs) {
      const value = input.read();
      if (value instanceof Error) {
        problems.textContent = `${field.title ?? name}: ${value.message}`;
        input.focus();
        return;
      }
      if (value !== undefined) content[name] = value;
    }
    problems.textContent = "";
    review(content);
  };
  const body = h("form", { novalidate: true, onsubmit: send },
    h("div", { class: "stack" }, inputs.map(([, , input]) => input.element), problems),
    h("div", { class: "choices" },
      h("button", { type: "submit", class: "primary" }, "Review"),
      h("button", { type: "button", onclick: () => answer(request, card, { kind: "form", action: "cancel" }) }, "Not now"),
      h("button", { type: "button", class: "danger deny", onclick: () => answer(request, card, { kind: "form", action: "decline" }) }, "Decline")));
  const review = (content) => {
    const shown = h("div", { class: "stack" }, h("p", {}, `This is what ${question.server} will get:`), json(content, "What is sent"),
      h("div", { class: "choices" },
        h("button", { type: "button", class: "primary", "data-answer": "send", onclick: () => answer(request, card, { kind: "form", action: "accept", content }) }, "Send"),
        h("button", { type: "button", onclick: () => { shown.replaceWith(body); } }, "Change")));
    body.replaceWith(shown);
    shown.querySelector("button").focus();
  };
  return [h("h2", {}, "A tool asks", server(question)), h("p", {}, visible(question.message)), body];
}

/** One field: its element, and `read`, which gives a value, nothing, or an Error. */
function control(name, field, required, id) {
  const label = field.title || name;
  const many = field.type === "array";
  const choices = options(many ? field.items ?? {} : field);
  let input, read;
  if (choices && many) {
    const chosen = new Set(field.default ?? []);
    input = h("span", { class: "stack tight" }, choices.map(([value, title]) => h("label", { class: "radio" }, h("input", { type: "checkbox", value, checked: chosen.has(value) }), title)));
    read = () => {
      const values = [...input.querySelectorAll("input:checked")].map((box) => box.value);
      if (field.minItems && values.length < field.minItems) return new Error(`choose at least ${field.minItems}`);
      if (field.maxItems !== undefined && values.length > field.maxItems) return new Error(`choose at most ${field.maxItems}`);
      return values.length || required ? values : undefined;
    };
    return { element: h("fieldset", { class: "field" }, h("legend", {}, label, required && " *", field.description && h("small", {}, " ", field.description)), input), read, focus: () => input.querySelector("input")?.focus() };
  }
  if (choices) {
    input = h("select", {}, (!required || field.default === undefined) && h("option", { value: "" }, required ? "choose…" : "none"), choices.map(([value, title]) => h("option", { value }, title)));
    input.value = field.default ?? "";
    read = () => (input.value === "" ? (required ? new Error("choose one") : undefined) : input.value);
  } else if (field.type === "boolean") {
    input = h("input", { type: "checkbox", checked: field.default === true });
    read = () => input.checked;
  } else {
    const number = field.type === "integer" || field.type === "number";
    const type = { email: "email", uri: "url", date: "date" }[field.format] ?? "text";
    input = h("input", { type, value: field.default ?? "", inputmode: number ? "decimal" : undefined, placeholder: field.format === "date-time" ? "2026-07-28T12:00:00Z" : undefined });
    read = () => readText(input.value, field, required, number);
  }
  input.id = `${id}-${name}`;
  const bounds = hint(field);
  return { element: h("label", { class: "field", for: input.id }, h("span", {}, label, required && " *"), input, (field.description || bounds) && h("small", {}, field.description && visible(field.description), field.description && bounds && " · ", bounds)), read, focus: () => input.focus() };
}

function readText(text, field, required, number) {
  if (text === "") return required && !(field.minLength === 0) ? new Error("is needed") : undefined;
  if (!number) {
    const length = [...text].length;
    if (field.minLength && length < field.minLength) return new Error(`needs at least ${field.minLength} characters`);
    if (field.maxLength !== undefined && length > field.maxLength) return new Error(`may have ${field.maxLength} characters`);
    return text;
  }
  const value = Number(text.replace(",", "."));
  if (!Number.isFinite(value)) return new Error("must be a number");
  if (field.type === "integer" && !Number.isInteger(value)) return new Error("must be a whole number");
  if (field.minimum !== undefined && value < field.minimum) return new Error(`must be at least ${field.minimum}`);
  if (field.maximum !== undefined && value > field.maximum) return new Error(`must be at most ${field.maximum}`);
  return value;
}

function options(field) {
  const titled = field.oneOf ?? field.anyOf;
  if (titled) return titled.map((option) => [option.const, option.title ?? option.const]);
  if (field.enum) return field.enum.map((value, at) => [value, field.enumNames?.[at] ?? value]);
  return undefined;
}

function hint(field) {
  const { minimum: low, maximum: high, format } = field;
  if (low !== undefined && high !== undefined) return `${low} to ${high}`;
  if (low !== undefined) return `at least ${low}`;
  if (high !== undefined) return `at most ${high}`;
  return format ? format : "";
}

function url(request, question, card) {
  const open = async () => {
    // The window opens in the click itself; nothing was fetched before, and the page that opens learns nothing.
    window.open(question.url, "_blank", "noopener,noreferrer");
    await answer(request, card, { kind: "url", action: "accept" });
  };
  return [
    h("h2", {}, "A tool wants you to visit an address", server(question)), h("p", {}, visible(question.message)),
    h("p", { class: "address" }, "Host: ", h("b", {}, visible(question.host)), h("br"), visible(question.url)),
    h("p", { class: "small" }, "Nobody has opened it yet. What you enter there does not pass through this host."),
    h("div", { class: "choices" },
      h("button", { type: "button", class: "primary", "data-answer": "open", onclick: open }, `Open ${question.host}`),
      h("button", { type: "button", onclick: () => answer(request, card, { kind: "url", action: "cancel" }) }, "Not now"),
      h("button", { type: "button", class: "danger deny", onclick: () => answer(request, card, { kind: "url", action: "decline" }) }, "Decline")),
  ];
}

function yesNo(request, card, yes, reply) {
  return h("div", { class: "choices" },
    h("button", { type: "button", class: "primary", "data-answer": "allow", onclick: () => answer(request, card, reply(true)) }, yes),
    h("button", { type: "button", class: "danger deny", "data-answer": "deny", onclick: () => answer(request, card, reply(false)) }, "Deny"));
}

function sampling(request, question, card) {
  return [
    h("h2", {}, "A server wants to ask the model", server(question)),
    question.system && rows([["Instructions", visible(question.system)]]),
    h("div", {}, question.messages.map((line) => h("p", { class: "small" }, h("strong", {}, `${line.role}: `), visible(line.text)))),
    h("p", { class: "small muted" }, `At most ${question.max_tokens} tokens. The server gets the answer.`),
    yesNo(request, card, "Ask the model", (allow) => ({ kind: "sampling", digest: question.digest, allow })),
  ];
}

function roots(request, question, card) {
  return [
    h("h2", {}, "A server asks for the folders that it may work in", server(question)),
    question.roots.length ? h("ul", {}, question.roots.map((root) => h("li", { class: "mono" }, visible(root.uri)))) : h("p", {}, "There are none."),
    yesNo(request, card, "Tell it", (allow) => ({ kind: "roots", allow })),
  ];
}

function login(request, question, card) {
  return [
    h("h2", {}, "A server wants a login", server(question)), h("p", {}, visible(question.hint)),
    yesNo(request, card, "Done, go on", (done) => ({ kind: "login", done })),
  ];
}
