// What a page lives through: a host that is killed, a day of events.

import { holds, same } from "../suite.mjs";
import { allow, answered, ask, card, done, fresh, held, last } from "./steps.mjs";

/** What a browser says of a host that is gone. */
const LOST = ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "ERR_SOCKET_NOT_CONNECTED"];

export async function sturdy(suite) {
  await suite.test("a page open for a day stays bounded", async (visit) => {
    const page = await visit.open();
    const sizes = await page.evaluate(async () => {
      const { SessionState } = await import("/assets/state.js");
      const state = new SessionState("s");
      let seq = 0;
      const entry = (run, event) => state.apply({ seq: (seq += 1), unix_ms: seq, elapsed_ms: seq, run, event });
      for (let run = 0; run < 300; run += 1) entry(`r${run}`, { stage: "run", what: "begun", question: "?" });
      for (let at = 0; at < 20_000; at += 1) entry("r299", { stage: "execution", what: "wire", server: "s", call: 1, direction: "sent", message: {} });
      entry("r299", { stage: "invocation", what: "started", call: 1, server: "s", tool: "t", arguments: {} });
      for (let at = 0; at < 2000; at += 1) entry("r299", { stage: "execution", what: "wire", server: "s", call: 1, direction: "sent", message: {} });
      for (let at = 0; at < 20_000; at += 1) entry("r299", { stage: "selection", what: "text_delta", text: "a text of some length, again and again " });
      for (let at = 0; at < 5000; at += 1) state.apply({ seq: (seq += 1), unix_ms: seq, event: { stage: "discovery", what: "connected", server: "s" } });
      const last = state.runs.at(-1);
      return { runs: state.runs.length, entries: last.entries.length, text: last.items.at(-1).text.length, wire: last.calls.get(1).wire.length, prelude: state.prelude.length };
    });
    holds(sizes.runs <= 100 && sizes.entries <= 4000 && sizes.text < 500_000 && sizes.wire <= 200 && sizes.prelude <= 200, JSON.stringify(sizes));
  });

  await suite.test("a text of any kind is laid out in time that grows with its length", async (visit) => {
    const page = await visit.open();
    // The processor's time, in seconds: it does not grow while others keep the machine busy.
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
    const worked = async () => (await devtools.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
    const kinds = await page.evaluate(async () => {
      const { markdown } = await import("/assets/markdown.js");
      const texts = {
        ticks: Array.from({ length: 600 }, (_, at) => "`".repeat(at + 1)).join(" "),
        links: "[a](<".repeat(8000), spaces: `${" ".repeat(60_000)}x`, marks: `# ${" #".repeat(30_000)}`, stars: "*a ".repeat(20_000),
        lines: "_".repeat(50_000), items: "- ".repeat(20_000), quotes: ">".repeat(20_000), rule: `${"- ".repeat(30_000)}x`,
        fence: `~~~${" ".repeat(60_000)}\``, tildes: `${"~".repeat(60_000)}\``, fenced: `\`\`\`${" ".repeat(60_000)}\``,
        table: `a|b\n${" ".repeat(60_000)}x`, cells: `a|b\n--${" ".repeat(60_000)}x`, bars: `a|b\n|${" ".repeat(60_000)}x`, columns: `a|b\n${"|-".repeat(30_000)}x`,
        item: `- ${" ".repeat(60_000)}x\ry`, heading: `#${" ".repeat(60_000)}x\ry${" ".repeat(60_000)}`,
      };
      window.layOut = (kind) => { markdown(texts[kind]); };
      return Object.keys(texts);
    });
    for (const kind of kinds) {
      const begun = await worked();
      await page.evaluate((kind) => window.layOut(kind), kind);
      const took = (await worked()) - begun;
      holds(took < 1, `${kind}: ${took} s`);
    }
  });

  await suite.test("a long answer is not laid out anew for each piece of it", async (visit) => {
    const page = await visit.open();
    const [laid, whole] = await page.evaluate(async () => {
      const { SessionState } = await import("/assets/state.js");
      const { ChatPage } = await import("/assets/chat.js");
      const session = new SessionState("s");
      const app = { session, servers: [], models: [], sessions: [], draw() {} };
      const chat = new ChatPage(app);
      let seq = 0;
      const entry = (event) => session.apply({ seq: (seq += 1), unix_ms: seq, elapsed_ms: seq, run: "r", event });
      entry({ stage: "run", what: "begun", question: "?" });
      // Each look at the clock is a millisecond: what laying out costs here does not hang on the machine.
      let now = 0, laid = 0;
      performance.now = () => (now += 1);
      const emptied = ({ target, removedNodes }) => removedNodes.length && target.classList?.contains("prose");
      new MutationObserver((changes) => { laid += changes.filter(emptied).length; }).observe(chat.element, { childList: true, subtree: true });
      for (let at = 0; at < 500; at += 1) {
        entry({ stage: "selection", what: "text_delta", text: "one *piece* of `many`\n\n".repeat(20) });
        chat.update();
        await null;
      }
      const during = laid;
      entry({ stage: "selection", what: "answered", text: session.runs[0].items[0].text, calls: [] });
      chat.update();
      return [during, chat.element.querySelectorAll(".prose code").length];
    });
    holds(laid > 20 && laid < 100, `${laid} times`);
    same(whole, 10_000, "all of it in the end");
  });

  await suite.test("a tab that nobody looks at lets go of its stream and takes it up again", async (visit) => {
    const page = await visit.open();
    await fresh(page);
    await ask(page, "Note something before the tab is left");
    await card(page).waitFor();
    const look = (tab, hidden) => tab.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
    await look(page, true);
    same(await page.locator("#link").innerText(), "", "nothing is wrong");
    // As many more as a browser has connections: each is let go of before the next one comes.
    for (let tab = 0; tab < 7; tab += 1) await look(await visit.open({ context: page.context() }), true);
    const other = await visit.open({ context: page.context() });
    await other.locator("#sessions a", { hasText: "Note something before the tab is left" }).first().click();
    await allow(other);
    await answered(other);
    holds(await card(page).isVisible(), "what is not looked at stands still");
    await look(page, false);
    same(await answered(page), "It is noted.");
    same(await page.locator("[data-run]").count(), 1, "nothing comes twice");
  });

  await suite.test("a run that was left in the middle goes on when somebody says so", async (visit) => {
    visit.allow(...LOST);
    const page = await visit.open();
    await fresh(page);
    await ask(page, "Stir slowly and be ended");
    await allow(page);
    await last(page).locator(".call [role=progressbar], .bar-row [role=progressbar]").first().waitFor();
    await visit.host.kill();
    await page.locator("#link.lost").waitFor();
    await visit.host.start();
    await page.locator("#sessions li", { hasText: "Stir slowly and be ended" }).locator('.waits[title="It was interrupted"]').waitFor();
    await last(page).getByRole("button", { name: "Go on" }).click();
    same(await answered(page), "I stopped stirring.");
    await last(page).locator(".call .state-word", { hasText: "outcome unknown" }).waitFor();
  });

  await suite.test("a run that goes on is not offered to go on, and is when it is left again", async (visit) => {
    visit.allow(...LOST);
    const { host, model } = visit;
    const page = await visit.open();
    const goOn = last(page).getByRole("button", { name: "Go on" });
    const again = async () => {
      await host.kill();
      await page.locator("#link.lost").waitFor();
      await host.start();
    };
    await fresh(page);
    await ask(page, "Stir, then think");
    await allow(page);
    await last(page).locator(".call [role=progressbar]").waitFor();
    const run = await last(page).getAttribute("data-run");
    const session = await page.evaluate(() => sessionStorage.getItem("session"));
    // The page asks who works on the run, and somebody goes on with it before the answer is there.
    const state = await held(page, new RegExp(`/sessions/${session}$`));
    await again();
    await state.asked;
    await host.request("POST", `/run/${run}/resume?wait=false`);
    await last(page).locator(".note", { hasText: "goes on where it was" }).waitFor();
    state.release();
    await done(page, state);
    same(await goOn.count(), 0, "somebody works on it");
    await last(page).locator(".prose", { hasText: "I stopped" }).waitFor();
    await again();
    await goOn.waitFor();
    await page.reload();
    await last(page).locator(".note", { hasText: "goes on where it was" }).waitFor();
    await goOn.click();
    // What is written after the second note.
    await last(page).locator(".note ~ .note ~ .prose", { hasText: "I stopped" }).waitFor();
    model.release();
    holds((await answered(page)).includes("stirring"), "it is answered");
  });

  await suite.test("who logs out is asked for the token on every page that is open", async (visit) => {
    visit.allow("401");
    const page = await visit.open();
    const other = await visit.open({ context: page.context() });
    await page.evaluate(() => fetch("/logout", { method: "POST" }));
    for (const left of [page, other]) await left.locator("#gate").waitFor();
  });

  await suite.test("a question outlives the host, and the page stays logged in", async (visit) => {
    visit.allow(...LOST);
    const page = await visit.open();
    await fresh(page);
    await ask(page, "Note something that outlives the host");
    await card(page).waitFor();
    const id = await card(page).getAttribute("data-request");
    await visit.host.kill();
    await page.locator("#link.lost").waitFor();
    await visit.host.start();
    await page.locator("#link:not(.lost)").waitFor({ state: "attached" });
    same(await card(page).getAttribute("data-request"), id, "it still waits");
    await allow(page);
    same(await answered(page), "It is noted.");
  });
}
