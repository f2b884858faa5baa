// Opens a page in the system's Chromium and prints the JSON that the page leaves in `window.outcome`.
//
// Usage: node browser.mjs URL        with playwright-core to be found from the working directory
import { join } from "node:path";
import { outcome, withPage } from "./chromium.mjs";

await withPage(join(process.cwd(), "node_modules"), async (page) => {
  console.log(JSON.stringify(await outcome(page, process.argv[2])));
});
