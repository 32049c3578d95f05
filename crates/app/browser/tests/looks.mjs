// How the pages look: a picture of each, names for who cannot see, the keyboard alone, the narrow layout.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { holds, same } from "../suite.mjs";
import { allow, answered, ask, card, fresh, go, last } from "./steps.mjs";

const STAGES = ["declaration", "discovery", "exposure", "selection", "authorization", "invocation", "execution", "result", "integration"];

export async function looks(suite, axe) {
  await suite.test("the lifecycle shows all nine stages, and each message opens", async (visit) => {
    const page = await visit.open();
    await fresh(page);
    await ask(page, "Compare the rooms");
    await allow(page);
    await allow(page);
    await answered(page);
    await last(page).getByRole("link", { name: "Lifecycle" }).click();
    await page.locator(".row").first().waitFor();
    for (const stage of STAGES) await page.locator(`.stage-chip.seen[data-stage=${stage}]`).waitFor();
    const rows = page.locator(".row");
    holds((await rows.count()) > 15, `${await rows.count()} rows`);
    await page.locator(".row[data-stage=invocation]", { hasText: "climate #1" }).click();
    await page.locator(".detail .json").first().waitFor();
    holds((await page.locator(".detail").innerText()).includes("kitchen"), "the arguments are there");
    await page.keyboard.press("Escape");
  });

  await suite.test("the keyboard alone is enough", async (visit) => {
    const page = await visit.open();
    await fresh(page);
    const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.dataset.answer || document.activeElement.textContent);
    const tabTo = async (wanted, key = "Tab") => {
      // Once around, however many conversations there are.
      const most = await page.locator("a, button, select, textarea, [tabindex]").count();
      for (let step = 0; step <= most; step += 1) {
        if ((await focused()) === wanted) return;
        await page.keyboard.press(key);
      }
      throw new Error(`${wanted} cannot be reached; the focus is on ${await focused()}`);
    };
    await tabTo("Skip to the content", "Shift+Tab");
    await tabTo("question");
    await page.keyboard.type("Note something by keyboard");
    await page.keyboard.press("Enter");
    await card(page).waitFor();
    await tabTo("allow", "Shift+Tab");
    await page.keyboard.press("Enter");
    same(await answered(page), "It is noted.");
  });

  await suite.test("the conversations are a drawer where it is narrow", async (visit) => {
    const page = await visit.open({ width: 390, height: 800 });
    const shown = () => page.evaluate(() => document.getElementById("side").getBoundingClientRect().right > 0);
    holds(!(await shown()), "it is away at first");
    await page.click("#open-side");
    await page.waitForFunction(() => document.getElementById("side").getBoundingClientRect().left >= 0);
    same(await page.getAttribute("#open-side", "aria-expanded"), "true", "it says so");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.getElementById("side").getBoundingClientRect().right <= 0);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    holds(wide <= 390, `the page is ${wide} wide`);
  });

  for (const scheme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      await suite.test(`pictures and names, ${scheme}, ${width}`, async (visit) => {
        visit.allow("401");
        const page = await visit.open({ width, height: width > 800 ? 860 : 844, scheme });
        const look = async (name) => {
          await page.evaluate(() => Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {}))));
          await page.screenshot({ path: join(visit.suite.folder, `${name}-${width}-${scheme}.png`) });
          await names(page, axe, `${name} ${width} ${scheme}`);
        };
        await look("welcome");
        await fresh(page);
        await ask(page, `Compare the rooms, ${scheme} at ${width}`);
        await allow(page);
        await allow(page);
        await answered(page);
        await last(page).locator(".call-toggle").first().click();
        await ask(page, "Note something before it is shown");
        await card(page).waitFor();
        await look("chat");
        await card(page).locator("[data-answer=deny]").click();
        await answered(page);
        await go(page, "lifecycle");
        await page.locator(".row").first().waitFor();
        await page.locator("select[aria-label=Run]").selectOption({ index: 0 });
        await page.evaluate(() => { document.querySelector(".chart").scrollTop = 0; });
        await look("lifecycle");
        await page.locator(".row[data-stage=invocation]", { hasText: "climate #1" }).click();
        await look("lifecycle-open");
        await go(page, "servers");
        const server = page.locator("[data-server=playground]");
        await server.locator("summary.server-more").click();
        await server.locator("details.tool", { hasText: "climate" }).locator("summary").click();
        await server.locator(".pair").first().waitFor();
        await look("servers");
        await page.context().clearCookies();
        await page.reload();
        await page.waitForSelector("#gate:not([hidden])");
        await look("gate");
      });
    }
  }
}

/** What assistive technology would stumble over. */
async function names(page, axe, where) {
  // The page forbids scripts of others; this one is put in from outside.
  await page.evaluate(readFileSync(axe, "utf8"));
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const bad = violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.slice(0, 3).map((node) => `${node.target.join(" ")} (${node.failureSummary?.split("\n").slice(1).join(" ").trim().slice(0, 200)})`).join("; ")}`);
  holds(bad.length === 0, `${where}:\n${bad.join("\n")}`);
}
