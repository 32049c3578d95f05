// A real `switchboard serve` in folders of its own. It ends with us: its standard input and its process group are ours.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The longest that it may take to begin or to end, in milliseconds. */
const PATIENCE = 30_000;

/** Where it listens: below the ports that a system gives out by itself, so that its own is still free after a `kill`. */
const PORTS = { first: 20_000, count: 12_000 };

/** How many ports are tried. */
const TRIES = 20;

/** `programs`: the paths of `switchboard` and of the `playground`. */
export class Host {
  constructor(programs, model) {
    this.folder = mkdtempSync(join(tmpdir(), "switchboard-browser-"));
    this.words = join(this.folder, "words.txt");
    this.programs = programs;
    this.reword("Says something that is always the same.");
    const text = (value) => JSON.stringify(value);
    writeFileSync(join(this.folder, "config.toml"), [
      "[models.scripted]", "kind = \"openai\"", `base_url = ${text(model.url)}`, "model = \"scripted\"", "context = 32000", "vision = true", "",
      "[servers.playground]", `command = ${text(programs.playground)}`, `args = [${text(this.words)}]`, "",
      "[servers.station]", `command = ${text(programs.switchboard)}`, "args = [\"demo\", \"station\", \"--stdio\"]", "era = \"legacy\"", "",
      "[servers.attic]", "command = \"a-program-that-nobody-has\"", "",
    ].join("\n"));
  }

  /** What the tool `reworded` is described by from the server's next start on. */
  reword(words) {
    writeFileSync(this.words, words);
  }

  /** Starts it, with its servers: where it was before, or the first time on a port that is free. */
  async start() {
    const first = Math.floor(Math.random() * PORTS.count);
    for (let at = 0; ; at += 1) {
      const listen = this.address ?? `127.0.0.1:${PORTS.first + ((first + at) % PORTS.count)}`;
      try {
        await this.serve(listen);
        break;
      } catch (error) {
        if (this.address || at + 1 === TRIES || !this.said.includes("cannot listen on")) throw error;
      }
    }
    await this.settled();
  }

  async serve(listen) {
    const { PATH, TMPDIR } = process.env;
    const env = {
      PATH, HOME: this.folder, SWITCHBOARD_CONFIG_DIR: join(this.folder, "none"), SWITCHBOARD_DATA_DIR: join(this.folder, "data"),
      SWITCHBOARD_NO_LOCAL_MODELS: "1", SWITCHBOARD_SECRETS: "file", SWITCHBOARD_SYSTEM_CONFIG: join(this.folder, "none.toml"),
    };
    if (TMPDIR) env.TMPDIR = TMPDIR;
    const args = ["--json", "--config", join(this.folder, "config.toml"), "serve", "--listen", listen];
    this.child = spawn(this.programs.switchboard, args, { env, cwd: this.folder, stdio: ["pipe", "pipe", "pipe"] });
    this.said = "";
    this.child.stderr.on("data", (piece) => { this.said = (this.said + piece).slice(-20_000); });
    this.ended = new Promise((resolve) => {
      this.child.once("exit", () => resolve("ended"));
      this.child.once("error", (error) => { this.said += error; resolve("ended"); });
    });
    const silent = new Promise((resolve) => { this.child.once("close", resolve); });
    const line = new Promise((resolve) => { createInterface({ input: this.child.stdout }).once("line", resolve); });
    const first = await soon(Promise.race([line, this.ended]));
    if (first === "late" || first === "ended") {
      await this.kill();
      // Its last words may come after its end.
      await soon(silent);
      throw new Error(`switchboard serve ${first === "late" ? `did not say within ${PATIENCE / 1000} s where it listens` : "ended at once"}:\n${this.said}`);
    }
    Object.assign(this, JSON.parse(first));
    this.origin = `http://${this.address}`;
  }

  /** Waits until no server is being started any more: a run waits for them only for a moment. */
  async settled() {
    const response = await this.fetch("GET", "/events", { signal: AbortSignal.timeout(PATIENCE) });
    let text = "";
    // Whoever leaves the loop cancels the stream.
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const events = (text + piece).split("\n\n");
      text = events.pop();
      for (const event of events) {
        const [, list] = /^event: servers\ndata: (.*)$/m.exec(event) ?? [];
        if (list && !JSON.parse(list).some(({ state }) => ["starting", "restarting"].includes(state))) return;
      }
    }
    throw new Error(`the events ended before the servers had started:\n${this.said}`);
  }

  /** Asks its API, as a program does. */
  async request(method, path, body) {
    const response = await this.fetch(method, path, { body: body && JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  fetch(method, path, more) {
    return fetch(`${this.origin}${path}`, { method, headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" }, ...more });
  }

  /** Ends it as `kill -9` does. */
  async kill() {
    this.child.kill("SIGKILL");
    await this.ended;
  }

  /** Ends it as ctrl-c does. One that does not end by that is an error. */
  async close() {
    this.child?.kill("SIGINT");
    const late = (await soon(this.ended)) === "late";
    if (late) await this.kill();
    try {
      rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    } catch (error) {
      console.log(`${this.folder} is left: ${error.message}`);
    }
    if (late) throw new Error(`switchboard serve did not end within ${PATIENCE / 1000} s of SIGINT:\n${this.said}`);
  }
}

/** What comes of it, or "late" where that takes too long. */
async function soon(promise) {
  let timer;
  const late = new Promise((resolve) => { timer = setTimeout(resolve, PATIENCE, "late"); });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
