// What people do on the page, in words.

/** Asks a question and waits until the page shows it. */
export async function ask(page, text) {
  await page.fill("#question", text);
  await page.press("#question", "Enter");
  await page.locator("[data-run]").filter({ hasText: text.split("\n")[0] }).last().waitFor();
}

/** The last question with its answer. */
export const last = (page) => page.locator("[data-run]").last();

/** Waits until the last run is over, and gives what its answer says. */
export async function answered(page) {
  await last(page).and(page.locator('[aria-busy="false"]')).waitFor();
  return last(page).locator(".prose").last().innerText();
}

/** The card of the question that waits. */
export const card = (page) => last(page).locator(".ask").first();

/** The same card, whatever else is asked meanwhile. */
async function pinned(page) {
  return page.locator(`[data-request="${await card(page).getAttribute("data-request")}"]`);
}

/** Allows what is asked, as far as the words say. */
export async function allow(page, words) {
  const ask = await pinned(page);
  if (words) {
    const options = await ask.locator("[data-scope] option").allTextContents();
    const at = options.findIndex((option) => option.includes(words));
    if (at < 0) throw new Error(`${words} is not offered: ${options.join(", ")}`);
    await ask.locator("[data-scope]").selectOption({ index: at });
  }
  await ask.locator("[data-answer=allow]").click();
  await ask.waitFor({ state: "detached" });
}

export async function deny(page) {
  const ask = await pinned(page);
  await ask.locator("[data-answer=deny]").click();
  await ask.waitFor({ state: "detached" });
}

/** A new conversation. */
export async function fresh(page) {
  if (!(await page.locator("#new-session").isVisible())) await page.click("#open-side");
  await page.click("#new-session");
  await page.locator(".empty").waitFor();
}

/** Goes to a page by its tab. */
export async function go(page, name) {
  await page.click(`.tabs a[data-page=${name}]`);
}

/** Waits until a server is in a state. */
export async function serverIs(page, name, state) {
  await page.locator(`[data-server=${name}] .server-head .badge`, { hasText: new RegExp(`^${state}$`) }).waitFor();
}

/** Holds back the answer to the first request whose address fits, as it is now, until it is let go of. */
export async function held(page, address) {
  let ask, release;
  const gate = { asked: new Promise((resolve) => { ask = resolve; }), answered: page.waitForResponse(address), release: () => release() };
  const free = new Promise((resolve) => { release = resolve; });
  await page.route(address, async (route) => {
    const response = await route.fetch();
    ask();
    await free;
    await route.fulfill({ response });
  }, { times: 1 });
  return gate;
}

/** Waits until the page has done what it does with an answer that was held back. */
export async function done(page, { answered }) {
  await (await answered).finished();
  await page.evaluate(() => fetch("/models").then((response) => response.text()).then(() => new Promise(requestAnimationFrame)));
}
