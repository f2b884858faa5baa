// Uses the app of the tool `forecast` in the page of `pmcp playground`, as a user would, and prints what it has shown, as
// JSON.
//
// Usage: node app.mjs URL, with BROWSER, the folder `node_modules` that has playwright-core.
import { withPage } from "../chromium.mjs";

const [url] = process.argv.slice(2);

await withPage(process.env.BROWSER, async (page) => {
  await page.goto(url);
  await page.waitForSelector("body[data-ready]");
  await page.locator("#items .item", { hasText: "Forecasts the weather of today." }).click();
  const work = page.locator("#item");
  await work.locator(".form").getByLabel("city", { exact: true }).fill("Ulm");
  await work.locator(".form").getByRole("button", { name: "Call", exact: true }).click();

  // The app is in a frame of a frame, which have no origin.
  const app = work.frameLocator("iframe.app").frameLocator("iframe");
  await app.locator("#result:not(:empty)").waitFor();
  const shown = [await app.locator("#result").textContent()];
  await app.getByRole("button", { name: "Next day" }).click();
  await app.locator("#result[data-calls='1']").waitFor();
  shown.push(await app.locator("#result").textContent());
  const bars = await app.locator("svg rect").evaluateAll((all) => all.map((bar) => Number(bar.getAttribute("height"))));
  console.log(JSON.stringify({ shown, bars }));
});
