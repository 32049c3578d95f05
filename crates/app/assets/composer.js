// Where one writes: text, files, `/` for the prompts of servers, `@` for their resources.

import { arrange, fill, h, icon, toast } from "./dom.js";
import { get, post } from "./api.js";
import { size, visible } from "./text.js";

/** All files of one question, in bytes: as many as the host takes. */
const MAX_FILES = 16 * 1024 * 1024;

export class Composer {
  /** `send({input, attachments})` begins a run and is true if it did; `stop()` ends the one that goes on. */
  constructor({ send, stop, servers }) {
    Object.assign(this, { send, stop, servers, files: [], chosen: undefined, busy: false });
    this.text = h("textarea", { id: "question", rows: "1", placeholder: "Ask something", "aria-label": "Your question", "aria-controls": "menu", "aria-autocomplete": "list", autocomplete: "off",
      onkeydown: (event) => this.key(event), oninput: () => this.typed(), onpaste: (event) => this.take(event.clipboardData?.files, event) });
    this.fileInput = h("input", { type: "file", multiple: true, hidden: true, onchange: () => { this.take(this.fileInput.files); this.fileInput.value = ""; } });
    this.fileList = h("div", { class: "files" });
    this.menu = h("div", { class: "menu card", id: "menu", role: "listbox", "aria-label": "Suggestions", hidden: true });
    this.go = h("button", { type: "button", class: "icon go", "aria-label": "Send", onclick: () => (this.busy ? this.stop() : this.submit()) }, icon("send"));
    const pick = h("button", { type: "button", class: "icon", "aria-label": "Choose servers", title: "Choose servers", onclick: () => this.picker() }, icon("tools"));
    const clip = h("button", { type: "button", class: "icon", "aria-label": "Attach files", title: "Attach files", onclick: () => this.fileInput.click() }, icon("clip"));
    this.element = h("div", { class: "compose", ondragover: (event) => event.preventDefault(), ondrop: (event) => { event.preventDefault(); this.take(event.dataTransfer.files); } },
      this.menu, h("div", { class: "compose-box" }, this.fileList, this.text, h("div", { class: "compose-row" }, clip, pick, this.fileInput, h("span", { class: "hint" }, "/ prompts · @ resources · Shift+Enter new line"), this.go)));
    document.addEventListener("pointerdown", (event) => { if (!this.element.contains(event.target)) this.closeMenu(); });
  }

  focus() {
    this.text.focus();
  }

  setBusy(busy) {
    if (busy === this.busy) return;
    this.busy = busy;
    this.go.classList.toggle("stop", busy);
    this.go.setAttribute("aria-label", busy ? "Stop" : "Send");
    fill(this.go, icon(busy ? "stop" : "send"));
  }

  key(event) {
    if (!this.menu.hidden && this.menuKey(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!this.busy) this.submit();
    }
  }

  async submit() {
    const input = this.text.value.trim();
    if (!input) return;
    const kept = { text: this.text.value, files: this.files };
    this.text.value = "";
    this.files = [];
    this.showFiles();
    this.closeMenu();
    // Now and not with the answer: by then somebody may be elsewhere.
    this.focus();
    const attachments = [...kept.files.map((file) => file.attachment), ...this.mentioned(input)];
    if (!(await this.send({ input, attachments }))) {
      // Nothing that was written is lost, then or meanwhile.
      this.text.value = [kept.text, this.text.value].filter(Boolean).join("\n");
      this.files = [...kept.files, ...this.files];
      this.showFiles();
    }
  }

  /** The resources that a question names as `@server:uri`; the host reads them when the run begins. */
  mentioned(input) {
    const known = new Set(this.servers.all().map((server) => server.name));
    const found = new Map();
    for (const [, server, uri] of input.matchAll(/(?:^|\s)@([^\s:]+):(\S+)/g)) {
      if (known.has(server)) found.set(`${server}:${uri}`, { name: uri, resource: { server, uri } });
    }
    return [...found.values()];
  }

  async take(files, event) {
    if (!files?.length) return;
    event?.preventDefault();
    // The list of an input is emptied with it.
    for (const file of [...files]) {
      if (this.files.reduce((sum, other) => sum + (other.size ?? 0), file.size) > MAX_FILES) {
        toast(`${file.name} is too large: ${size(file.size)}`, `At most ${size(MAX_FILES)} go with a question, all together.`);
        continue;
      }
      try {
        this.files.push({ name: file.name, size: file.size, attachment: await attachment(file) });
      } catch (error) {
        toast(`${file.name} cannot be attached: ${error.message}`);
      }
    }
    this.showFiles();
  }

  showFiles() {
    arrange(this.fileList, this.files.map((file) => (file.badge ??= h("span", { class: "badge" }, visible(file.name), ` ${size(file.size ?? 0)}`,
      h("button", { type: "button", "aria-label": `Remove ${file.name}`, onclick: () => { this.files = this.files.filter((other) => other !== file); this.showFiles(); } }, "×")))));
  }

  /** What stands before the caret decides what is suggested. */
  typed() {
    const before = this.text.value.slice(0, this.text.selectionStart);
    const prompt = /^\/(\S*)$/.exec(before);
    const resource = /(?:^|\s)@(\S*)$/.exec(before);
    if (prompt) this.suggestPrompts(prompt[1]);
    else if (resource) this.suggestResources(resource[1]);
    else this.closeMenu();
  }

  async suggestPrompts(word) {
    const turn = (this.turn = {});
    try {
      this.prompts ??= await get("/prompts");
      if (turn !== this.turn) return;
      const fits = this.prompts.filter((prompt) => `${prompt.server} ${prompt.name} ${prompt.title ?? ""}`.toLowerCase().includes(word.toLowerCase()));
      this.openMenu(fits.slice(0, 40).map((prompt) => ({ label: `/${prompt.name}`, small: [prompt.server, prompt.title ?? prompt.description].filter(Boolean).join(" · "), choose: () => this.fillPrompt(prompt) })), "No server offers such a prompt.");
      setTimeout(() => { this.prompts = undefined; }, 30_000);
    } catch (error) {
      this.openMenu([], error.message);
    }
  }

  async suggestResources(word) {
    const turn = (this.turn = {});
    try {
      const found = await get(`/resources?query=${encodeURIComponent(word)}`);
      if (turn !== this.turn) return;
      this.openMenu(found.slice(0, 40).map((resource) => ({ label: resource.title ?? resource.name ?? resource.uri, small: `${resource.server} · ${resource.uri}`, choose: () => this.insert(`@${resource.server}:${resource.uri} `) })), "No server offers such a resource.");
    } catch (error) {
      this.openMenu([], error.message);
    }
  }

  /** Puts a mention in the place of what is typed of it by now, which may be more than what was looked for. */
  insert(text) {
    const caret = this.text.selectionStart;
    const from = this.text.value.slice(0, caret).search(/@\S*$/);
    this.text.setRangeText(text, from < 0 ? caret : from, caret, "end");
    this.closeMenu();
    this.focus();
  }

  /** Asks for the arguments of a prompt, with the server's completion, and puts what it gives into the question. */
  fillPrompt(prompt) {
    const values = {};
    const finish = async () => {
      try {
        const got = await post("/prompts", { server: prompt.server, name: prompt.name, arguments: values });
        this.text.value = got.messages.map((message) => message.text ?? message.content?.text ?? "").filter(Boolean).join("\n\n");
        const here = this.element.contains(document.activeElement);
        this.closeMenu();
        if (here) this.focus();
      } catch (error) {
        toast(error.message, error.hint);
      }
    };
    if (!prompt.arguments?.length) {
      finish();
      return;
    }
    const fields = prompt.arguments.map((argument) => {
      const list = h("datalist", { id: `complete-${argument.name}` });
      const input = h("input", { id: `argument-${argument.name}`, list: list.id, required: argument.required, autocomplete: "off", oninput: () => {
        values[argument.name] = input.value;
        this.complete(prompt, argument.name, input.value, values, list);
      } });
      return h("label", { class: "field", for: input.id }, h("span", {}, argument.title ?? argument.name, argument.required && " *"), input, list, argument.description && h("small", { class: "muted" }, visible(argument.description)));
    });
    this.menu.hidden = false;
    this.menu.setAttribute("role", "group");
    fill(this.menu, h("form", { class: "picker", onsubmit: (event) => { event.preventDefault(); finish(); } }, h("strong", {}, `/${prompt.name}`), fields, h("button", { type: "submit", class: "primary" }, "Use the prompt")));
    this.menu.querySelector("input")?.focus();
  }

  async complete(prompt, argument, value, values, list) {
    try {
      const context = Object.fromEntries(Object.entries(values).filter(([name]) => name !== argument));
      const got = await post("/complete", { server: prompt.server, reference: { type: "ref/prompt", name: prompt.name }, argument, value, context });
      fill(list, (got.values ?? []).map((option) => h("option", { value: option })));
    } catch {
      // A server without completion is no trouble.
    }
  }

  picker() {
    const all = this.servers.all();
    const chosen = new Set(this.servers.chosen() ?? all.map((server) => server.name));
    const boxes = all.map((server) => h("label", {}, h("input", { type: "checkbox", value: server.name, checked: chosen.has(server.name), onchange: (event) => {
      if (event.target.checked) chosen.add(server.name);
      else chosen.delete(server.name);
      this.servers.choose(chosen.size === all.length ? undefined : [...chosen]);
    } }), h("span", { class: `dot ${server.state}` }), visible(server.name), h("span", { class: "end" }, server.tools !== undefined && `${server.tools} tools`, server.token_cost !== undefined && ` · ${server.token_cost} tokens`)));
    this.menu.hidden = false;
    this.menu.setAttribute("role", "group");
    fill(this.menu, h("div", { class: "picker" }, h("strong", {}, "Servers for the next question"), boxes.length ? boxes : h("span", { class: "muted" }, "No server is configured."), h("button", { type: "button", onclick: () => this.closeMenu() }, "Done")));
    this.menu.querySelector("input")?.focus();
  }

  openMenu(options, nothing) {
    this.options = options;
    this.chosen = 0;
    this.menu.hidden = false;
    this.menu.setAttribute("role", "listbox");
    fill(this.menu, options.length ? options.map((option, index) => h("div", { role: "option", id: `option-${index}`, "aria-selected": String(index === 0), onpointerdown: (event) => { event.preventDefault(); option.choose(); } }, h("span", {}, visible(option.label)), h("small", {}, visible(option.small ?? "")))) : h("div", { class: "nothing" }, nothing));
    this.text.setAttribute("aria-activedescendant", options.length ? "option-0" : "");
  }

  closeMenu() {
    this.turn = undefined;
    this.menu.hidden = true;
    this.options = undefined;
    this.text.removeAttribute("aria-activedescendant");
  }

  menuKey(event) {
    if (event.key === "Escape") {
      this.closeMenu();
      event.preventDefault();
      return true;
    }
    if (!this.options?.length) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const options = this.menu.querySelectorAll("[role=option]");
      options[this.chosen].setAttribute("aria-selected", "false");
      this.chosen = (this.chosen + step + options.length) % options.length;
      options[this.chosen].setAttribute("aria-selected", "true");
      options[this.chosen].scrollIntoView({ block: "nearest" });
      this.text.setAttribute("aria-activedescendant", `option-${this.chosen}`);
    } else if (event.key === "Enter" || event.key === "Tab") {
      this.options[this.chosen].choose();
    } else {
      return false;
    }
    event.preventDefault();
    return true;
  }
}

/** A picture as a picture, everything else as the text that it is. */
async function attachment(file) {
  if (/^image\/(png|jpeg|gif|webp)$/.test(file.type)) {
    const url = await new Promise((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(file);
    });
    return { name: file.name, media_type: file.type, data: url.slice(url.indexOf(",") + 1) };
  }
  const text = new TextDecoder("utf-8", { fatal: true });
  try {
    return { name: file.name, media_type: file.type || "text/plain", text: text.decode(await file.arrayBuffer()) };
  } catch {
    throw new Error("it is neither text nor a picture that models take");
  }
}
