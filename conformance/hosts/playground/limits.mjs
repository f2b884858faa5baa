// Opens the apps of fixtures/playground/limits.py in the page of `pmcp playground`, and prints their reports as one object.
//
// Usage: node limits.mjs URL, with BROWSER, the folder `node_modules` that has playwright-core.
import { withPage } from "../chromium.mjs";

await withPage(process.env.BROWSER, async (page) => {
  const reports = {};
  for (const tool of ["declares", "declares_nothing"]) {
    // A page that is open already would only take the new fragment.
    await page.goto("about:blank");
    await page.goto(process.argv[2]);
    await page.waitForSelector("body[data-ready]");
    await page.locator("#items .item", { has: page.locator(`.title:text-is("${tool}")`) }).click();
    await page.locator("#item .form").getByRole("button", { name: "Call", exact: true }).click();
    const outcome = page.locator("#item .outcome").first();
    const seen = outcome.frameLocator("iframe.app").frameLocator("iframe").locator("#seen", { hasText: "{" });
    reports[tool] = JSON.parse(await seen.textContent());
  }
  console.log(JSON.stringify(reports));
});
