// What servers ask: forms, addresses; progress and cancellation; the same question in two tabs.

import { holds, same } from "../suite.mjs";
import { allow, answered, ask, card, fresh, last } from "./steps.mjs";

export async function questions(suite) {
  await suite.test("a form checks, shows again and sends", async (visit) => {
    const page = await visit.open();
    await ask(page, "How do I take my tea");
    await allow(page);
    const form = card(page);
    await form.locator("form").waitFor();
    const review = form.getByRole("button", { name: "Review" });
    const wrong = form.locator(".wrong");
    const field = (label) => form.getByLabel(label, { exact: false });
    const check = async (words) => {
      await review.click();
      await wrong.filter({ hasText: words }).waitFor();
    };
    await check("Name: is needed");
    await field("Name").fill("A");
    await check("at least 2");
    await field("Name").fill("Ada");
    await check("Cups: is needed");
    await field("Cups").fill("12");
    await check("at most 9");
    await field("Cups").fill("1.5");
    await check("whole number");
    await field("Cups").fill("2");
    await field("Mail").fill("ada@tea.example");
    await field("Site").fill("https://tea.example/");
    await field("Day").fill("2026-07-28");
    await field("Moment").fill("2026-07-28T12:00:00Z");
    await field("Size").selectOption("large");
    await field("Kind").selectOption({ label: "Green" });
    await field("Milk").uncheck();
    for (const extra of ["lemon", "honey", "mint"]) await form.getByLabel(extra).check();
    await check("at most 2");
    await form.getByLabel("mint").uncheck();
    await visit.picture("form");
    await review.click();
    await form.getByText("This is what playground will get").waitFor();
    const shown = await form.locator(".json").innerText();
    for (const part of ["Ada", "\"cups\": 2", "\"strength\": 0.5", "\"milk\": false", "\"g\"", "lemon", "honey"]) holds(shown.includes(part), `${part} is not in ${shown}`);
    await form.getByRole("button", { name: "Change" }).click();
    await field("Cups").fill("3");
    await review.click();
    await form.locator("[data-answer=send]").click();
    const text = await answered(page);
    holds(text.includes("\"cups\":3") && text.includes("Ada"), text);
  });

  await suite.test("a form is declined", async (visit) => {
    const page = await visit.open();
    await ask(page, "How do I take my tea if I do not say");
    await allow(page);
    await card(page).getByRole("button", { name: "Decline" }).click();
    await answered(page);
  });

  await suite.test("an address is shown and not fetched", async (visit) => {
    const page = await visit.open();
    await ask(page, "Pay for the tea");
    await allow(page);
    await card(page).locator(".address b", { hasText: "tea.example" }).waitFor();
    same(await page.locator("a[href*='tea.example']").count(), 0, "nothing leads there but the button");
    same(visit.contexts[0].pages().length, 1, "no window was opened");
    await card(page).getByRole("button", { name: "Decline" }).click();
    holds((await answered(page)).includes("Decline"), "the tool is told");
  });

  await suite.test("a call shows its progress and is cancelled", async (visit) => {
    const page = await visit.open();
    await ask(page, "Stir slowly");
    await allow(page);
    const call = last(page).locator(".call");
    await call.locator("[role=progressbar][aria-valuenow]").waitFor();
    await call.getByText("stirring").waitFor();
    await call.getByRole("button", { name: "Cancel" }).click();
    same(await answered(page), "I stopped stirring.");
  });

  await suite.test("two tabs show the same question, and the first answer counts", async (visit) => {
    visit.allow("409");
    const page = await visit.open();
    await fresh(page);
    await ask(page, "Note something in two tabs");
    await card(page).waitFor();
    const id = await card(page).getAttribute("data-request");
    await page.reload();
    await card(page).waitFor();
    same(await card(page).getAttribute("data-request"), id, "it is the same after a reload");
    const other = await visit.open({ context: visit.contexts[0] });
    await other.locator("#sessions a", { hasText: "Note something in two tabs" }).click();
    await card(other).waitFor();
    same([await card(other).getAttribute("data-request"), await card(other).innerText()], [id, await card(page).innerText()], "the other tab");
    // The other tab hears of nothing for a moment, so that both answer.
    await other.evaluate(() => { window.held = document.querySelector(".ask [data-answer=deny]"); });
    await other.route("**/run/*/input**", async (route) => {
      await card(page).locator("[data-answer=allow]").click();
      await page.locator(`[data-request="${id}"]`).waitFor({ state: "detached" });
      await route.continue();
    });
    await other.evaluate(() => window.held.click());
    await other.locator("#toasts", { hasText: "answered this already" }).waitFor();
    same([await answered(page), await answered(other)], ["It is noted.", "It is noted."], "both see the end");
    await last(other).locator(".call .state-word", { hasText: "done" }).waitFor();
  });
}
