// Drives the web page of a real `switchboard serve` in a headless Chromium.
//
//   node main.mjs FOLDER-WITH-NODE_MODULES SWITCHBOARD PLAYGROUND CHROMIUM PICTURES [PART-OF-A-NAME]

import { createRequire } from "node:module";
import { join } from "node:path";
import { Host } from "./host.mjs";
import { startModel } from "./model.mjs";
import { scenes } from "./scenes.mjs";
import { Suite } from "./suite.mjs";
import { approvals } from "./tests/approvals.mjs";
import { conversations } from "./tests/conversations.mjs";
import { looks } from "./tests/looks.mjs";
import { questions } from "./tests/questions.mjs";
import { servers } from "./tests/servers.mjs";
import { sturdy } from "./tests/sturdy.mjs";

const [npm, switchboard, playground, executablePath, folder, only] = process.argv.slice(2);
const require = createRequire(join(npm, "package.json"));
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");

const model = await startModel(scenes);
const host = new Host({ switchboard, playground }, model);
let browser;
let suite;
let whole = true;
try {
  await host.start();
  const quiet = ["--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"];
  browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ["--no-sandbox", ...quiet] : quiet });
  suite = new Suite({ browser, host, model, folder, only });
  await conversations(suite);
  await approvals(suite);
  await questions(suite);
  await servers(suite);
  await looks(suite, axe);
  await sturdy(suite);
} catch (error) {
  whole = false;
  console.log(error);
  console.log(host.said);
}
for (const ended of [browser, model, host]) {
  try {
    await ended?.close();
  } catch (error) {
    whole = false;
    console.log(error);
  }
}
console.log(`${suite?.passed ?? 0} passed, ${suite?.failed.length ?? 0} failed`);
process.exit(whole && suite.passed > 0 && suite.failed.length === 0 ? 0 : 1);
