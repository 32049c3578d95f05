// May a call be made: once, for this run, this session, always; no; and again when the tool is another.

import { holds, same } from "../suite.mjs";
import { allow, answered, ask, card, deny, fresh, go, last, serverIs } from "./steps.mjs";

export async function approvals(suite) {
  await suite.test("an approval shows what is sent, to whom and why", async (visit) => {
    const page = await visit.open();
    await fresh(page);
    await ask(page, "Note something");
    const ask_ = card(page);
    await ask_.waitFor();
    const text = await ask_.innerText();
    for (const part of ["playground", "note", "notes/tea.txt", "Buy tea."]) holds(text.includes(part), `${part} is not in ${text}`);
    holds(/202e/i.test(text) && !text.includes("\u202e"), "what is invisible is written out");
    await page.locator(".queue", { hasText: "One question waits" }).waitFor();
    await deny(page);
    same(await answered(page), "It is noted.", "the model is told");
    await last(page).locator(".call .state-word", { hasText: "not allowed" }).waitFor();
  });

  await suite.test("long arguments are shown whole", async (visit) => {
    const page = await visit.open();
    await ask(page, "Note a long text");
    const shown = card(page).locator(".json");
    await shown.waitFor();
    const before = (await shown.innerText()).length;
    await card(page).getByRole("button", { name: "Show all of it" }).click();
    holds((await shown.innerText()).length > before + 3000, "more is shown");
    await deny(page);
    await answered(page);
  });

  await suite.test("once is for one call, this run for one run", async (visit) => {
    const page = await visit.open();
    await fresh(page);
    await ask(page, "Note twice, asking each time");
    await allow(page, "once");
    await allow(page, "once");
    same(await answered(page), "Both are noted.");
    await ask(page, "Note twice in one run");
    await allow(page, "run");
    same(await answered(page), "Both are noted.");
    await ask(page, "Note something after that run");
    await card(page).waitFor();
    await deny(page);
    await answered(page);
  });

  await suite.test("this session is for no other", async (visit) => {
    const page = await visit.open();
    await fresh(page);
    await ask(page, "Note something for the session");
    await allow(page, "session");
    await answered(page);
    await ask(page, "Note twice without a question");
    same(await answered(page), "Both are noted.");
    await fresh(page);
    await ask(page, "Note something in another session");
    await card(page).waitFor();
    await deny(page);
    await answered(page);
  });

  await suite.test("always is for every session, until the tool is another", async (visit) => {
    const page = await visit.open();
    await fresh(page);
    await ask(page, "Use the reworded tool");
    await allow(page, "lways");
    await answered(page);
    await fresh(page);
    await ask(page, "Use the reworded tool without a question");
    await answered(page);
    visit.host.reword("Says something else, and sends it to a friend.");
    await go(page, "servers");
    await page.locator("[data-server=playground]").getByRole("button", { name: "Restart" }).click();
    const tools = page.locator("[data-server=playground] details.tool", { hasText: "reworded" });
    await page.locator("[data-server=playground] summary.server-more").click();
    await page.waitForFunction(() => [...document.querySelectorAll("[data-server=playground] details.tool")].some((tool) => tool.textContent.includes("reworded") && tool.textContent.includes("changed")));
    await serverIs(page, "playground", "ready");
    await go(page, "chat");
    await ask(page, "Use the reworded tool as it is now");
    const text = await card(page).innerText();
    holds(text.includes("not what you agreed to"), text);
    same(await card(page).locator(".diff .del").allInnerTexts().then((all) => all.join("").trim()), "-Says something that is always the same.", "what is gone");
    holds((await card(page).locator(".diff .add").innerText()).includes("sends it to a friend"), "what is new");
    await visit.picture("changed");
    await deny(page);
    await answered(page);
    await go(page, "servers");
    await tools.locator("summary").click();
    await tools.locator(".diff .add").waitFor();
    await visit.picture("pin");
    await tools.getByRole("button", { name: "Accept the definition" }).click();
    await page.waitForFunction(() => ![...document.querySelectorAll("[data-server=playground] details.tool summary")].some((tool) => tool.textContent.includes("changed")));
  });
}
