// A host page with an app of a server, in the system's Chromium, used as a user would: the page shows the result of a tool
// in a chart, and its button and its slider call another one.
//
// Usage: node visit.mjs, with PACKAGES, the folder `node_modules` that has ext-apps, the official client and rolldown, and
// BROWSER, the one that has playwright-core. It prints the origin of the host page, and reads one line of JSON:
// {"server", "tool", "arguments", "screenshot"}. Then it prints the outcome, also as JSON.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { outcome, withPage } from "../chromium.mjs";

const { PACKAGES, BROWSER } = process.env;
const { rolldown } = await import(pathToFileURL(createRequire(join(PACKAGES, "/")).resolve("rolldown")));

async function bundle() {
  const input = join(import.meta.dirname, "host.js");
  const graph = await rolldown({ input, platform: "browser", resolve: { modules: [PACKAGES] }, logLevel: "silent" });
  const { output } = await graph.generate({ format: "esm", codeSplitting: false });
  return output[0].code;
}

const files = {
  "/host.js": ["text/javascript", await bundle()],
  "/": ["text/html", await readFile(join(import.meta.dirname, "host.html"), "utf8")],
};
const pages = createServer((request, response) => {
  const [type, body] = files[new URL(request.url, "http://localhost").pathname] ?? ["text/plain"];
  response.writeHead(body === undefined ? 404 : 200, { "content-type": type });
  response.end(body);
});
await new Promise((resolve) => pages.listen(0, "127.0.0.1", resolve));
const origin = `http://localhost:${pages.address().port}`;
console.log(origin);
const lines = createInterface({ input: process.stdin });
// Without a line the test has ended, and so does this program.
const line = await new Promise((resolve) => lines.once("line", resolve).once("close", () => resolve("")));
if (!line) process.exit(1);
const options = JSON.parse(line);

try {
  await withPage(BROWSER, async (page) => {
    const query = new URLSearchParams({
      server: options.server,
      tool: options.tool,
      arguments: JSON.stringify(options.arguments),
    });
    const found = await outcome(page, `${origin}/?${query}`);
    if (found.error) throw new Error(found.error);
    const app = page.frameLocator("iframe");
    await app.locator("#result:not(:empty)").waitFor();
    const shown = [await app.locator("#result").textContent()];
    const controls = [
      () => app.getByRole("button", { name: "Next day" }).click(),
      () => app.getByRole("slider", { name: "Day" }).fill("4"),
    ];
    for (const [before, use] of controls.entries()) {
      await use();
      await app.locator(`#result[data-calls='${before + 1}']`).waitFor();
      shown.push(await app.locator("#result").textContent());
    }
    const bars = await app.locator("svg rect").evaluateAll((all) => all.map((bar) => Number(bar.getAttribute("height"))));
    await page.screenshot({ path: options.screenshot });
    console.log(JSON.stringify({ ...found, shown, bars }));
  });
} finally {
  pages.close();
  lines.close();
}
