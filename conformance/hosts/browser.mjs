// Opens a page in the system's Chromium and prints the JSON that the page leaves in `window.outcome`.
//
// Usage: node browser.mjs URL        with playwright-core to be found from the working directory
import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(join(process.cwd(), "node_modules/"))("playwright-core");
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
  ],
});
try {
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.error(String(error)));
  await page.goto(process.argv[2]);
  await page.waitForFunction(() => window.outcome !== undefined, null, { timeout: 60_000 });
  console.log(JSON.stringify(await page.evaluate(() => window.outcome)));
} finally {
  await browser.close();
}
