// A small runner: named tests one after the other, each in a browser context of its own, watched for what a page must
// never do: fail in the console, or ask another origin for anything.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

/** The longest that anything is waited for, in milliseconds. */
const PATIENCE = 15_000;

export class Suite {
  constructor({ browser, host, model, folder, only }) {
    Object.assign(this, { browser, host, model, folder, only, failed: [], passed: 0 });
    mkdirSync(folder, { recursive: true });
  }

  async test(name, work) {
    if (this.only && !name.includes(this.only)) return;
    const since = performance.now();
    const visit = new Visit(this, name);
    let problem;
    try {
      await work(visit);
      visit.check();
    } catch (error) {
      problem = error;
      await visit.picture("failed").catch(() => {});
    }
    await visit.close();
    const took = ((performance.now() - since) / 1000).toFixed(1).padStart(5);
    console.log(`${problem ? "FAILED" : "ok    "} ${took} s  ${name}`);
    if (problem) {
      console.log(String(problem.stack ?? problem).split("\n").slice(0, 12).map((line) => `    ${line}`).join("\n"));
      if (visit.problems.length) console.log(visit.problems.map((line) => `    ${line}`).join("\n"));
      this.failed.push(name);
    } else {
      this.passed += 1;
    }
  }
}

/** What one test sees: pages of one browser context. */
export class Visit {
  constructor(suite, name) {
    Object.assign(this, { suite, name, host: suite.host, model: suite.model, problems: [], allowed: [], contexts: [] });
  }

  /** A new page, logged in unless it is asked not to be. */
  async open({ width = 1280, height = 860, scheme = "light", login = true, context } = {}) {
    if (!context) {
      context = await this.suite.browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: "reduce" });
      context.setDefaultTimeout(PATIENCE);
      this.contexts.push(context);
    }
    const page = await context.newPage();
    page.on("console", (message) => { if (message.type() === "error" || message.type() === "warning") this.note(`console: ${message.text()} ${message.location().url}`); });
    page.on("pageerror", (error) => this.note(`page: ${error}`));
    page.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      if (!["data:", "blob:"].includes(protocol) && origin !== this.host.origin) this.note(`another origin was asked: ${request.url()}`);
    });
    await page.goto(login ? this.host.page : this.host.origin);
    if (login) await page.waitForSelector("#app:not([hidden])");
    return page;
  }

  /** Something that this test brings about on purpose. */
  allow(...parts) {
    this.allowed.push(...parts);
  }

  note(problem) {
    this.problems.push(problem);
  }

  check() {
    const left = this.problems.filter((problem) => !this.allowed.some((part) => problem.includes(part)));
    if (left.length) throw new Error(`the page did what it must not:\n${left.join("\n")}`);
  }

  async picture(name) {
    const page = this.contexts.at(-1)?.pages().at(-1);
    await page?.screenshot({ path: join(this.suite.folder, `${name}-${this.name.replace(/\W+/g, "-").slice(0, 60)}.png`) });
  }

  async close() {
    for (const context of this.contexts) await context.close().catch(() => {});
  }
}

export function same(got, expected, what = "") {
  const [one, other] = [JSON.stringify(got), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${what}: ${one} instead of ${other}`);
}

export function holds(condition, what) {
  if (!condition) throw new Error(what);
}
