// The servers: how they are, what they offer, what they say.

import { holds, same } from "../suite.mjs";
import { go, serverIs } from "./steps.mjs";

export async function servers(suite) {
  await suite.test("servers are shown, tested, stopped and restarted", async (visit) => {
    const page = await visit.open();
    await go(page, "servers");
    await serverIs(page, "playground", "ready");
    await serverIs(page, "station", "ready");
    await serverIs(page, "attic", "failed");
    const [playground, station, attic] = ["playground", "station", "attic"].map((name) => page.locator(`[data-server=${name}]`));
    await playground.locator(".badge.modern").waitFor();
    await station.locator(".badge.legacy").waitFor();
    const trouble = await attic.locator(".trouble").innerText();
    holds(trouble.includes("a-program-that-nobody-has"), trouble);
    await playground.getByRole("button", { name: "Test" }).click();
    await playground.locator(".steps .badge.good").first().waitFor();
    await playground.getByRole("button", { name: "Close" }).click();
    await station.getByRole("button", { name: "Stop" }).click();
    await serverIs(page, "station", "stopped");
    await station.getByRole("button", { name: "Restart" }).click();
    await serverIs(page, "station", "ready");
  });

  await suite.test("a click on a server counts, whatever becomes of the server meanwhile", async (visit) => {
    const page = await visit.open();
    await go(page, "servers");
    await serverIs(page, "station", "ready");
    const station = page.locator("[data-server=station]");
    const number = station.locator(".facts div", { hasText: "Process" }).locator("dd");
    const before = await number.innerText();
    await station.getByRole("button", { name: "Test" }).hover();
    await page.mouse.down();
    await visit.host.request("POST", "/servers/station/restart");
    await number.filter({ hasText: new RegExp(`^(?!${before}$)`) }).waitFor();
    await serverIs(page, "station", "ready");
    await page.mouse.up();
    await station.locator(".steps .badge.good").first().waitFor();
  });

  await suite.test("tools are shown as they are and as a model sees them; the log and the wire", async (visit) => {
    const page = await visit.open();
    await go(page, "servers");
    const server = page.locator("[data-server=playground]");
    await server.locator("summary.server-more").click();
    const tool = server.locator("details.tool", { hasText: "climate" });
    await tool.locator("summary").click();
    await tool.getByText("playground__climate").waitFor();
    same(await tool.locator(".pair .json").count(), 2, "both schemas");
    await server.getByRole("tab", { name: "Log" }).click();
    await server.locator(".lines", { hasText: "the playground is open" }).waitFor();
    await server.getByRole("tab", { name: "Wire" }).click();
    await server.locator(".wire-row", { hasText: "tools/list" }).first().click();
    await server.locator(".wire-row[open] .json").first().waitFor();
    await server.getByRole("tab", { name: "Wire" }).press("ArrowLeft");
    await server.getByRole("tab", { name: "Log", selected: true }).waitFor();
  });
}
