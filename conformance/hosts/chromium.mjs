// Opens a page in the system's Chromium, with playwright-core of a folder `node_modules`.
import { createRequire } from "node:module";
import { join } from "node:path";

// The milliseconds that a page has for each step.
const PATIENCE = 1000 * Number(process.env.PMCP_PATIENCE ?? 120);

// Calls `visit` with a new page, and closes the browser whatever happens.
export async function withPage(packages, visit) {
  const { chromium } = createRequire(join(packages, "/"))("playwright-core");
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
    page.setDefaultTimeout(PATIENCE);
    page.on("pageerror", (error) => console.error(String(error)));
    await visit(page);
  } finally {
    await browser.close();
  }
}

// Opens a page and waits for what it leaves in `window.outcome`.
export async function outcome(page, url) {
  await page.goto(url);
  await page.waitForFunction(() => window.outcome !== undefined);
  return page.evaluate(() => window.outcome);
}
