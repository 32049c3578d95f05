// Logging in, streaming, sessions, prompts, resources, attachments.

import { holds, same } from "../suite.mjs";
import { allow, answered, ask, card, deny, done, fresh, go, held, last } from "./steps.mjs";

export async function conversations(suite) {
  await suite.test("the gate lets in who has the token", async (visit) => {
    visit.allow("401");
    const page = await visit.open({ login: false });
    await page.waitForSelector("#gate:not([hidden])");
    await page.fill("#token", "not the token");
    await page.press("#token", "Enter");
    await page.locator("#login-error", { hasText: "not the token" }).waitFor();
    await page.fill("#token", visit.host.token);
    await page.press("#token", "Enter");
    await page.waitForSelector("#app:not([hidden])");
    holds(!page.url().includes(visit.host.token), "the token is in the address");
    const other = await visit.open();
    holds(!other.url().includes("token"), "the token stays in the address");
  });

  await suite.test("an address with the token of another host says so", async (visit) => {
    visit.allow("401");
    const page = await visit.open({ login: false });
    await page.goto(`${visit.host.origin}/#token=the-token-of-yesterday`);
    await page.reload();
    const gate = page.locator("#login-error", { hasText: "not the token of this host" });
    await gate.waitFor();
    holds((await gate.innerText()).includes("switchboard serve"), "it says where the right one is");
    holds(!page.url().includes("token"), "the token stays in the address");
    await visit.picture("gate");
    await page.fill("#token", visit.host.token);
    await page.press("#token", "Enter");
    await page.waitForSelector("#app:not([hidden])");
    await page.goto(`${visit.host.origin}/#token=the-token-of-yesterday`);
    await page.reload();
    await page.waitForSelector("#app:not([hidden])");
  });

  await suite.test("every tab sees by the list what goes on elsewhere", async (visit) => {
    const page = await visit.open();
    await fresh(page);
    const other = await visit.open({ context: page.context() });
    await fresh(other);
    await ask(page, "Note something that another tab sees");
    const listed = other.locator("#sessions li", { hasText: "Note something that another tab sees" });
    await listed.locator(".waits").waitFor();
    await deny(page);
    await answered(page);
    await listed.locator(".waits").waitFor({ state: "detached" });
  });

  await suite.test("a click on a conversation counts, whatever moves in the list meanwhile", async (visit) => {
    const { host } = visit;
    const page = await visit.open();
    const row = (title) => page.locator("#sessions li", { hasText: title });
    const begin = async (input, session) => (await host.request("POST", "/run?wait=false", { input, session })).id;
    const sessions = [];
    for (const title of ["The one that comes up", "The one that is pressed", "The one that comes last"]) {
      sessions.push((await host.request("POST", "/sessions")).id);
      await begin(title, sessions.at(-1));
      await row(title).waitFor();
    }
    await row("is pressed").locator("a").hover();
    await page.mouse.down();
    const run = await begin("Note something that waits", sessions[0]);
    await row("comes up").locator(".waits").waitFor();
    await page.mouse.up();
    await page.locator("[data-run]", { hasText: "The one that is pressed" }).waitFor();
    same(await row("is pressed").locator("a").getAttribute("aria-current"), "true", "it is marked");
    await page.locator("#sessions li:first-child", { hasText: "The one that comes up" }).waitFor();
    await host.request("DELETE", `/run/${run}`);
    await row("comes up").locator(".waits").waitFor({ state: "detached" });
  });

  await suite.test("nothing can be done before the page knows what there is", async (visit) => {
    visit.allow("401");
    const page = await visit.open({ login: false });
    const lists = await held(page, /\/sessions\?/);
    await page.fill("#token", visit.host.token);
    await page.press("#token", "Enter");
    await lists.asked;
    holds(!(await page.locator("#app").isVisible()), "what is done now would be taken back");
    const asked = ask(page, "A question as early as can be");
    lists.release();
    await asked;
    holds((await answered(page)).includes("as early as can be"), "it is answered");
  });

  await suite.test("a host that fails at first says so at the gate", async (visit) => {
    visit.allow("401", "500");
    const page = await visit.open({ login: false });
    await page.route(/\/servers$/, (route) => route.fulfill({ status: 500, json: { error: { message: "the servers cannot be listed" } } }));
    await page.fill("#token", visit.host.token);
    await page.press("#token", "Enter");
    await page.locator("#login-error", { hasText: "the servers cannot be listed" }).waitFor();
    holds(!(await page.locator("#app").isVisible()), "there is nothing to see");
  });

  await suite.test("the focus stays where somebody has gone while a question was sent", async (visit) => {
    const page = await visit.open();
    const run = await held(page, /\/run\?/);
    await page.fill("#question", "Sent while somebody goes elsewhere");
    await page.press("#question", "Enter");
    await run.asked;
    await page.locator("#new-session").focus();
    run.release();
    await last(page).waitFor();
    await answered(page);
    await done(page, run);
    same(await page.evaluate(() => document.activeElement.id), "new-session", "the focus");
  });

  await suite.test("an answer appears as it is written", async (visit) => {
    const page = await visit.open();
    await ask(page, "Tell me about tea");
    await last(page).locator(".prose", { hasText: "Tea is made" }).waitFor();
    same(await last(page).getAttribute("aria-busy"), "true", "it goes on");
    same(await page.locator(".go").getAttribute("aria-label"), "Stop", "it can be stopped");
    visit.model.release();
    const text = await answered(page);
    holds(text.includes("It is drunk hot."), text);
    same(await last(page).locator(".prose strong").allTextContents(), ["green", "black"], "markdown");
    holds(await last(page).locator(".think").isVisible(), "the thinking can be seen");
  });

  await suite.test("a run is stopped", async (visit) => {
    const page = await visit.open();
    await ask(page, "Tell me about tea, or not");
    await last(page).locator(".prose", { hasText: "Tea is made" }).waitFor();
    await page.click(".go");
    await last(page).locator(".run-foot", { hasText: "Stopped." }).waitFor();
    visit.model.release();
  });

  await suite.test("markdown is shown and HTML is not run", async (visit) => {
    const page = await visit.open();
    await ask(page, "Show me everything in markdown");
    await answered(page);
    const prose = last(page).locator(".prose");
    same([await prose.locator("table td").count(), await prose.locator("pre").count(), await prose.locator("img").count()], [4, 1, 0], "elements");
    const links = await prose.locator("a").evaluateAll((all) => all.map((link) => [link.href, link.rel]));
    same(links.filter(([href]) => !href.startsWith("https://tea.example/")), [], "links");
  });

  await suite.test("conversations are switched, begun and deleted", async (visit) => {
    const page = await visit.open();
    for (const question of ["First conversation", "Second conversation"]) {
      await fresh(page);
      await ask(page, question);
      await answered(page);
    }
    await page.locator("#sessions a", { hasText: "First conversation" }).click();
    await page.locator("[data-run]", { hasText: "First conversation" }).first().waitFor();
    same(await page.locator("[data-run]").count(), 1, "its own questions");
    await page.reload();
    await page.locator("[data-run]", { hasText: "First conversation" }).first().waitFor();
    page.once("dialog", (dialog) => dialog.accept());
    await page.locator("#sessions li", { hasText: "First conversation" }).getByRole("button").click();
    await page.locator("#sessions a", { hasText: "First conversation" }).waitFor({ state: "detached" });
    await page.locator(".empty").waitFor();
  });

  await suite.test("prompts are found, completed and used", async (visit) => {
    const page = await visit.open();
    await page.locator("#question").pressSequentially("/sum");
    await page.locator("[role=option]", { hasText: "/sum_up" }).waitFor();
    await page.keyboard.press("Enter");
    const topic = page.locator("#argument-topic");
    await topic.pressSequentially("te");
    await page.locator("datalist option[value=teapots]").waitFor({ state: "attached" });
    await topic.fill("tea");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.getElementById("question").value === "Sum up tea in one line.");
  });

  await suite.test("a resource that is mentioned goes with the question", async (visit) => {
    const page = await visit.open();
    await page.locator("#question").pressSequentially("What is attached? @tea");
    await page.locator("[role=option]", { hasText: "On tea" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.getElementById("question").value.includes("@playground:note://tea "));
    await page.keyboard.press("Enter");
    await last(page).waitFor();
    const text = await answered(page);
    holds(text.includes("Tea is drunk at five."), text);
  });

  await suite.test("files go with the question", async (visit) => {
    const page = await visit.open();
    await page.locator("input[type=file]").setInputFiles([
      { name: "list.txt", mimeType: "text/plain", buffer: Buffer.from("Buy 3 lemons.") },
      { name: "dot.png", mimeType: "image/png", buffer: Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPhfDwAChAGAQdEt3gAAAABJRU5ErkJggg==", "base64") },
    ]);
    await page.locator(".files .badge").nth(1).waitFor();
    await ask(page, "What is attached?");
    const text = await answered(page);
    holds(text.includes("Buy 3 lemons.") && text.includes("data:image/png"), text);
    same(await page.locator(".files .badge").count(), 0, "they are gone from the composer");
  });

  await suite.test("servers are chosen for a question", async (visit) => {
    const page = await visit.open();
    await page.getByRole("button", { name: "Choose servers" }).click();
    for (const name of ["station", "attic"]) await page.locator(".picker label", { hasText: name }).click();
    await page.getByRole("button", { name: "Done" }).click();
    await ask(page, "How warm is the kitchen with few servers?");
    await allow(page);
    await answered(page);
  });

  await suite.test("a result shows its texts, its artefacts and its wire", async (visit) => {
    const page = await visit.open();
    await ask(page, "Show me a picture");
    await allow(page);
    await answered(page);
    const call = last(page).locator(".call");
    await call.locator(".call-toggle").click();
    await call.getByRole("tab", { name: /Artefacts/ }).click();
    await call.locator(".artefact img").waitFor();
    await page.waitForFunction(() => document.querySelector(".artefact img").naturalWidth === 16);
    await call.getByRole("tab", { name: "Wire" }).click();
    await call.locator(".wire-row", { hasText: "tools/call" }).first().click();
    await call.locator(".wire-row .json").first().waitFor();
    await go(page, "lifecycle");
    await page.locator(".row").first().waitFor();
  });

  await suite.test("a tool that fails says so", async (visit) => {
    const page = await visit.open();
    await ask(page, "Break the kettle");
    await card(page).waitFor();
    await allow(page);
    await answered(page);
    await last(page).locator(".call .state-word", { hasText: "the tool failed" }).waitFor();
  });
}
