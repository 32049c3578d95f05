// The page: who is shown, which conversation, and the one event stream behind it all.

import { announce, arrange, fill, h, icon, prose, toast } from "./dom.js";
import { del, get, listen, post, request } from "./api.js";
import { ago } from "./text.js";
import { SessionState } from "./state.js";
import { ChatPage } from "./chat.js";
import { LifecyclePage } from "./lifecycle.js";
import { ServersPage } from "./servers.js";

/** Conversations that are listed, the newest; as many as the stream tells of. */
const LISTED = 500;

const byId = (id) => document.getElementById(id);

class App {
  constructor() {
    Object.assign(this, { servers: [], models: [], sessions: [], session: undefined, record: undefined, chosenModel: undefined, chosenServers: undefined });
    this.pages = { chat: new ChatPage(this), lifecycle: new LifecyclePage({ pick: (run) => { location.hash = `#/lifecycle/${encodeURIComponent(run)}`; } }), servers: new ServersPage(this) };
    this.rows = new Map();
    // No row goes elsewhere while one is pressed. The click comes right after the pointer is let go of.
    byId("sessions").addEventListener("pointerdown", (event) => { this.pressed ||= event.button === 0; });
    for (const over of ["pointerup", "pointercancel"]) addEventListener(over, () => { if (this.pressed) setTimeout(() => { this.pressed = false; this.list(); }); });
    addEventListener("hashchange", () => this.route());
    byId("new-session").addEventListener("click", () => this.leave());
    byId("open-side").addEventListener("click", () => this.side(true));
    byId("scrim").addEventListener("click", () => this.side(false));
    addEventListener("keydown", (event) => { if (event.key === "Escape") this.side(false); });
  }

  async start() {
    byId("gate").hidden = true;
    const [models, sessions, servers] = await Promise.all([get("/models"), get(`/sessions?limit=${LISTED}`), get("/servers")]);
    Object.assign(this, { models, sessions, servers });
    this.pages.chat.models(models);
    const kept = sessionStorage.getItem("session");
    // From here on somebody may do something: nothing that comes later takes it back.
    byId("app").hidden = false;
    const shown = this.show(sessions.find((session) => session.id === kept)?.id);
    this.route();
    await shown;
  }

  /** Shows a session, or the place where a new one begins. */
  async show(id) {
    this.close?.();
    this.session = id ? new SessionState(id) : undefined;
    this.record = this.sessions.find((session) => session.id === id);
    if (id) sessionStorage.setItem("session", id);
    else sessionStorage.removeItem("session");
    this.pages.chat.reset();
    this.close = listen({ session: id, after: 0 }, (kind, data) => this.hear(kind, data), (state) => this.link(state));
    this.list();
    this.draw();
    await this.left();
  }

  hear(kind, data) {
    if (kind === "entry") {
      this.session?.apply(data);
      if (data.event.stage === "run" && data.event.what === "resumed") this.left();
    } else if (kind === "servers") {
      this.servers = data;
    } else {
      this.sessions = data;
      this.record = data.find((session) => session.id === this.session?.id) ?? this.record;
      this.list();
    }
    this.draw();
  }

  /**
   * Learns which run nobody works on, because the host was ended in the middle of it. The journal does not say so. One
   * that goes on again while this is asked makes it ask once more: the answer may be older than that.
   */
  async left() {
    const { session } = this;
    if (!session || !this.sessions.some((known) => known.id === session.id && known.title)) return;
    const turn = (this.turn = {});
    try {
      const { runs } = await get(`/sessions/${encodeURIComponent(session.id)}`);
      if (turn !== this.turn) return;
      session.left = new Set(runs.filter((run) => run.status === "interrupted" && !session.isOver(run.id)).map((run) => run.id));
      this.draw();
    } catch {
      // The stream says what is wrong with the session.
    }
  }

  /** Draws at most once a frame, however much is heard. */
  draw() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      const bad = this.servers.filter((server) => server.state === "failed").length;
      const badge = byId("server-count");
      badge.textContent = bad || this.servers.length || "";
      badge.classList.toggle("bad", bad > 0);
      badge.title = bad ? `${bad} do not work` : "";
      if (this.page === "chat") this.pages.chat.update();
      else if (this.page === "lifecycle") this.pages.lifecycle.show(this.session, this.runId);
      else if (this.page === "servers") this.pages.servers.update();
    });
  }

  route() {
    const [, page, id] = location.hash.split("/");
    this.runId = id && decodeURIComponent(id);
    const next = this.pages[page] ? page : "chat";
    if (next !== this.page) {
      this.page = next;
      fill(byId("view"), this.pages[next].element);
      document.title = `${next[0].toUpperCase()}${next.slice(1)} · Switchboard`;
    }
    for (const link of document.querySelectorAll(".tabs a")) {
      if (link.dataset.page === next) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.draw();
    if (next === "chat" && matchMedia("(min-width: 761px)").matches) this.pages.chat.composer.focus();
  }

  list() {
    byId("older").hidden = this.sessions.length < LISTED;
    const shown = new Set(this.sessions.map((session) => session.id));
    for (const session of this.sessions) this.row(session.id).update(session, session.id === this.session?.id);
    if (this.pressed) return;
    for (const id of this.rows.keys()) if (!shown.has(id)) this.rows.delete(id);
    arrange(byId("sessions"), this.sessions.map((session) => this.row(session.id).element));
  }

  row(id) {
    let row = this.rows.get(id);
    if (!row) {
      row = new SessionRow({ open: () => { this.side(false); if (id !== this.session?.id) this.show(id); }, remove: () => this.remove(id) });
      this.rows.set(id, row);
    }
    return row;
  }

  async remove(id) {
    const session = this.sessions.find((known) => known.id === id);
    if (!session || !confirm(`Delete "${session.title}" with all that belongs to it?`)) return;
    try {
      await del(`/sessions/${encodeURIComponent(session.id)}`);
      this.sessions = this.sessions.filter((other) => other.id !== session.id);
      if (session.id === this.session?.id) await this.show(undefined);
      else this.list();
    } catch (error) {
      toast(error.message, error.hint);
    }
  }

  leave() {
    this.side(false);
    location.hash = "#/chat";
    this.show(undefined);
    this.pages.chat.composer.focus();
  }

  /** The session that is shown, or a new one. */
  async ensureSession() {
    if (this.session) return this.session.id;
    const { id } = await post("/sessions");
    this.sessions = [{ id, title: "", updated_ms: Date.now() }, ...this.sessions.filter((session) => session.id !== id)];
    await this.show(id);
    return id;
  }

  side(open) {
    byId("side").classList.toggle("open", open);
    byId("scrim").hidden = !open;
    byId("open-side").setAttribute("aria-expanded", String(open));
    if (open) byId("new-session").focus();
  }

  link(state) {
    const link = byId("link");
    link.classList.toggle("lost", state !== "open" && state !== "away");
    const text = LINK[state];
    if (link.textContent !== text) link.textContent = text;
    if (state === "open" && this.linked && this.linked !== "open") {
      if (this.linked !== "away") announce("Connected again.");
      this.left();
    }
    this.linked = state;
  }
}

/** A conversation in the list. What can be pressed in it is made once. */
class SessionRow {
  constructor({ open, remove }) {
    this.title = document.createTextNode("");
    this.ago = h("small");
    this.link = h("a", { href: "#/chat", onclick: open }, this.title, this.ago);
    this.waits = h("span", { class: "waits" });
    this.bin = h("button", { type: "button", class: "icon", onclick: remove }, icon("trash"));
    this.element = h("li", {}, this.link, this.bin);
  }

  update(session, current) {
    this.title.data = session.title || "New conversation";
    this.ago.textContent = ago(session.updated_ms);
    this.element.classList.toggle("current", current);
    if (current) this.link.setAttribute("aria-current", "true");
    else this.link.removeAttribute("aria-current");
    this.bin.setAttribute("aria-label", `Delete ${session.title || "conversation"}`);
    const mark = MARKS[session.state];
    if (mark) this.waits.title = mark;
    arrange(this.element, this.link, mark && this.waits, this.bin);
  }
}

/** The sessions that somebody has to go on with. */
const MARKS = { input_required: "A question waits", interrupted: "It was interrupted" };

const LINK = { open: "", away: "", lost: "Connection lost, trying again…", full: "Too many pages of this host are open: close some." };

/** One for the page, however often somebody logs in: two would listen twice and draw over each other. */
let app;
const start = () => (app ??= new App()).start();

/** The token stands in the fragment, which no request carries; it becomes a cookie and is gone from the address. */
async function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", location.pathname);
    try {
      await post("/login", { token });
    } catch (error) {
      if (error.status !== 401) throw error;
      // Whoever is logged in already may come by an old address.
      await get("/models").catch(() => { throw new Error(STALE); });
    }
  }
  await start();
}

const STALE = "The token in this address is not the token of this host. Open the address that `switchboard serve` printed when this host was started, or paste its token here.";

function gate(message) {
  byId("app").hidden = true;
  byId("gate").hidden = false;
  byId("login-error").hidden = !message;
  fill(byId("login-error"), message && prose(message));
  byId("token").focus();
}

byId("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await request("POST", "/login", { token: byId("token").value.trim() });
    byId("token").value = "";
    await start();
  } catch (error) {
    gate(error.status === 401 ? "This is not the token of this host: it stands behind #token= in the address that `switchboard serve` printed when this host was started." : error.message);
  }
});
addEventListener("switchboard:login", () => gate());
enter().catch((error) => (error.status === 401 ? gate() : gate(error.message)));
