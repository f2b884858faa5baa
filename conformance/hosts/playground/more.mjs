// Uses the parts of the page of `pmcp playground` that need more of a client, and what hostile tools try. Prints the name of
// each check that has passed.
//
// Usage: node more.mjs URL PAGES_URL, with BROWSER, the folder `node_modules` that has playwright-core and axe-core; PAGES_URL
// is the page of a server that wants a page to be opened first.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { withPage } from "../chromium.mjs";
import { layoutProblems } from "./layout.mjs";

const [url, pagesUrl] = process.argv.slice(2);
const TRACE = [
  { trace: "mcp", version: 2, program: "pmcp 1.0.0" },
  { at: 0, wire: "client", from: "client", message: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "from_a_file", arguments: {} } } },
  { at: 7, wire: "tool", from: "bridge", message: { request_id: "1", call_tool: { name: "from_a_file", arguments_json: "{}" } } },
  { at: 1507, wire: "client", from: "server", message: { jsonrpc: "2.0", id: 1, result: { content: [] } } },
].map((line) => JSON.stringify(line)).join("\n");

await withPage(process.env.BROWSER, async (page) => {
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  const foreign = [];
  page.on("request", (request) => /^https?:/.test(request.url()) && new URL(request.url()).origin !== new URL(url).origin && foreign.push(request.url()));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(url).origin });
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(url);
  await page.waitForSelector("body[data-ready]");

  const work = page.locator("#item");
  const outcome = work.locator(".outcome").first();
  const side = (name) => page.locator("#side").getByRole("tab", { name }).click();
  const kind = (name) => page.locator("#tabs").getByRole("tab", { name }).click();
  const open = async (name, tab = "Tools") => {
    await kind(tab);
    await page.locator("#items .item", { has: page.locator(`.title:text-is("${name}")`) }).click();
    await work.getByRole("heading", { name, exact: true }).waitFor();
  };
  const submit = (name = "Call") => work.locator(".form").getByRole("button", { name, exact: true }).click();
  const ended = (state = "ok") => outcome.locator(`.head .badge.${state}`).waitFor();
  const label = (name) => work.locator(".form").getByLabel(name, { exact: true });
  const speak = async (revision) => {
    await side("Session");
    await page.getByLabel("Revision of MCP").selectOption(revision);
    await page.locator("#session .server").getByText(`speaks ${revision}`).waitFor();
    await page.locator("#state.connected").waitFor();
  };

  const checks = {
    async "the secret leaves the address bar"() {
      assert.ok(!page.url().includes("token"), page.url());
      await page.reload();
      await page.waitForSelector("body[data-ready]");
      await page.locator("#state.connected").waitFor();
      const painted = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
      console.error(`first paint: ${Math.round(painted)} ms`);
      // 100 ms, with a margin of ten.
      assert.ok(painted < 1000, `${painted} ms`);
    },

    async "a crash with the last words of the process, in the same session"() {
      const sessions = page.locator(".trace-list .row.mcp.request", { hasText: "initialize" });
      await page.getByLabel("Search messages").fill('"method":"initialize"');
      await sessions.first().waitFor();
      const before = await sessions.count();
      await open("crash");
      await submit();
      await ended("failed");
      await outcome.getByText(/last words/).first().waitFor();
      await side("Log");
      await page.locator("#log p", { hasText: "last words" }).first().waitFor();
      await side("Trace");
      await open("notes");
      await submit();
      await ended();
      assert.equal(await sessions.count(), before);
      await page.getByLabel("Search messages").fill("");
    },

    async "roots that are edited"() {
      await side("Session");
      await page.getByRole("button", { name: "Add root" }).click();
      await page.getByLabel("URI of the root").fill("file:///a/folder");
      await page.getByLabel("Name of the root").fill("folder");
      await page.getByLabel("Name of the root").blur();
      await side("Trace");
      await page.locator(".trace-list .row", { hasText: "roots/list_changed" }).last().waitFor();
      await open("where");
      await submit();
      await ended();
      assert.match(await outcome.textContent(), /file:\/\/\/a\/folder/);
    },

    async "every revision, with sessions and without"() {
      for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2026-07-28", "2025-11-25"]) {
        await speak(revision);
        await open("where");
        await submit();
        await ended();
        assert.match(await outcome.textContent(), /file:\/\/\/a\/folder/, revision);
      }
    },

    async "a task in both eras, with its question"() {
      for (const revision of ["2026-07-28", "2025-11-25"]) {
        await speak(revision);
        await open("report");
        await label("pages").fill("3");
        if (revision === "2025-11-25") await work.getByLabel("as a task").check();
        await submit();
        await outcome.getByText(/task \S+ is (working|input_required)/).waitFor();
        // In 2026-07-28 a task tells its progress by its state alone.
        if (revision === "2025-11-25") await outcome.locator("progress[value]").waitFor();
        await page.locator("#questions").getByLabel("title", { exact: true }).fill(revision);
        await page.locator("#questions").getByRole("button", { name: "Answer" }).click();
        await ended();
        await outcome.getByText(`3 pages about ${revision}`).waitFor();
      }
      await open("report");
      await work.getByLabel("as a task").check();
      await label("pages").fill("1000");
      await submit();
      await outcome.getByText(/task \S+ is working/).waitFor();
      await outcome.getByRole("button", { name: "Cancel" }).click();
      await ended("cancelled");
      await side("Trace");
      await page.locator(".trace-list .row", { hasText: "tasks/cancel" }).first().waitFor();
    },

    async "a resource that is subscribed to, in both eras"() {
      let count = 0;
      for (const revision of ["2026-07-28", "2025-11-25"]) {
        await speak(revision);
        await open("now", "Resources");
        await work.getByLabel("subscribe to changes").check();
        await submit("Read");
        await outcome.getByText(`count ${count}`, { exact: true }).waitFor();
        // Another client changes it, so that the resource stays in sight.
        count += 1;
        await page.evaluate(async () => {
          const token = sessionStorage.getItem("pmcp-token");
          await fetch("/api/call", { method: "POST", headers: { authorization: `Bearer ${token}` }, body: '{"name":"count","args":{}}' });
        });
        await outcome.getByText(`count ${count}`, { exact: true }).waitFor();
        await work.getByLabel("subscribe to changes").uncheck();
      }
    },

    async "values that need a picker, and their faults"() {
      await open("values");
      await label("at").fill("2026-02-03T04:05:06.000");
      await work.getByLabel("File for data").setInputFiles({ name: "a.bin", mimeType: "application/octet-stream", buffer: Buffer.from([0, 255, 16]) });
      await label("Send note").check();
      await label("Kind of note").selectOption("null");
      await label("linked").selectOption("large");
      await label("limit").fill("2");
      await work.locator(".faults").getByText("/limit: is less than 3").waitFor();
      await label("limit").fill("4");
      await work.locator(".faults li").waitFor({ state: "detached" });
      await submit();
      await ended();
      await outcome.getByRole("button", { name: "As text" }).click();
      const seen = JSON.parse(await outcome.locator("pre").first().textContent());
      assert.equal(new Date(seen.at).getTime(), new Date("2026-02-03T04:05:06").getTime());
      assert.deepEqual({ ...seen, at: "" }, { at: "", data: "AP8Q", note: null, linked: "large", limit: 4 });
      await work.getByRole("button", { name: "Edit as JSON" }).click();
      await work.getByLabel("Arguments as JSON").fill('{"at": 5, "other": 1}');
      await work.locator(".faults").getByText("/at: is number, and not string").waitFor();
      await work.locator(".faults").getByText("has no data").waitFor();
      await work.getByRole("button", { name: "Edit as form" }).click();
      await open("endless");
      await work.getByLabel("c as JSON").waitFor();
    },

    async "Markdown as elements, and a search in JSON"() {
      await open("notes");
      await submit();
      await ended();
      await outcome.getByRole("button", { name: "As Markdown" }).click();
      await outcome.getByRole("heading", { name: "Title" }).waitFor();
      assert.equal(await outcome.getByRole("link").count(), 1);
      assert.deepEqual(await outcome.locator("td").allTextContents(), ["1", "2"]);
      assert.equal(await outcome.locator("img").count(), 0);
      await outcome.getByText("JSON", { exact: true }).click();
      await outcome.getByLabel("Search in this JSON").first().fill("TITLE");
      await outcome.getByText("1 found").waitFor();
    },

    async "a call that is repeated, and copied as a command line"() {
      await open("report");
      await open("count");
      await submit();
      await ended();
      await kind("History");
      await page.getByRole("button", { name: "Repeat count" }).first().click();
      await ended();
      await side("Trace");
      const calls = page.locator(".trace-list .row.mcp.request", { hasText: "tools/call" });
      await page.getByLabel("Search messages").fill('"name":"count"');
      await page.getByLabel("Kind", { exact: true }).selectOption("Requests");
      await calls.first().click();
      assert.match(await calls.first().locator(".took").textContent(), /\d+ ms/);
      const before = await calls.count();
      await page.locator(".trace-detail").getByRole("button", { name: "Repeat" }).click();
      await calls.nth(before).waitFor();
      await ended();
      await page.locator(".trace-detail").getByRole("button", { name: "As curl" }).click();
      await page.getByText("Copied").waitFor();
      const command = await page.evaluate(() => navigator.clipboard.readText());
      const PMCP_TOKEN = new URL(url).hash.split("token=")[1];
      assert.ok(!command.includes(PMCP_TOKEN), command);
      const { stdout } = await promisify(execFile)("bash", ["-c", `${command} -sS`], { env: { ...process.env, PMCP_TOKEN } });
      assert.match(stdout, /"text":"counted"/);
      await page.getByLabel("Search messages").fill("");
      await page.getByLabel("Kind", { exact: true }).selectOption("All kinds");
    },

    async "a trace that is imported and saved as a scenario"() {
      await page.getByLabel("Trace to import").setInputFiles({ name: "bug.jsonl", mimeType: "application/jsonl", buffer: Buffer.from(TRACE) });
      await page.getByText("Messages of bug.jsonl").waitFor();
      assert.deepEqual(await page.locator(".trace-list .row .label").allTextContents(), ["tools/call", "call_tool", "tools/call response"]);
      assert.equal(await page.locator(".trace-list .row .took").first().textContent(), "1.5 s");
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "As scenario" }).click()]);
      const text = await readFile(await download.path(), "utf8");
      assert.ok(text.includes("steps:") && text.includes("from_a_file"), text);
      await page.getByRole("button", { name: "Back to this page" }).click();
      await page.getByLabel("Trace to import").setInputFiles({ name: "x.jsonl", mimeType: "application/jsonl", buffer: Buffer.from('{"trace":"mcp","version":9}') });
      await page.getByText("reads versions 1 and 2").waitFor();
    },

    async "the tools as a host sees them"() {
      await kind("Tools");
      await page.getByLabel("Tools as seen by").selectOption("cursor");
      await page.locator("#items").getByText("tokens in each conversation").waitFor();
      await open("count");
      await work.getByText(/The host sees/).waitFor();
      await page.getByLabel("Tools as seen by").selectOption("");
      await work.getByText(/The host sees/).waitFor({ state: "detached" });
    },

    async "hostile texts that run nothing"() {
      const hurt = () => page.evaluate(() => window.hurt);
      await kind("Tools");
      await page.locator("#items .item", { hasText: "Is hostile." }).click();
      await submit();
      await ended();
      for (const toggle of await outcome.getByRole("button", { name: /As (Markdown|text)/ }).all()) await toggle.click();
      await kind("Resources");
      await page.locator("#items .item", { hasText: "onerror" }).click();
      await submit("Read");
      await ended();
      await kind("History");
      await kind("Tools");
      await page.getByLabel("Tools as seen by").selectOption("openai");
      await page.locator("#items .item", { hasText: "Is hostile." }).click();
      assert.equal(await page.locator("#item img, #items img, #side img, #item script").count(), 0);
      await page.getByLabel("Tools as seen by").selectOption("");
      await open("attack");
      await submit();
      await outcome.frameLocator("iframe.app").frameLocator("iframe").getByText("tried").waitFor();
      assert.equal(await hurt(), undefined);
      assert.equal(new URL(page.url()).origin, new URL(url).origin);
      // The browser reports what it has refused to the app.
      errors.length = 0;
    },

    async "a page that a tool needs first"() {
      const other = await page.context().browser().newPage();
      await other.goto(pagesUrl);
      await other.waitForSelector("body[data-ready]");
      await other.locator("#items .item", { hasText: "files" }).click();
      await other.locator(".form").getByRole("button", { name: "Call", exact: true }).click();
      await other.getByText("Sign in for your files.").waitFor();
      await other.getByRole("button", { name: "Show the page" }).click();
      assert.ok(await other.locator("#questions").getByText("https://example.com/sign-in").isVisible());
      await other.locator("#questions").getByRole("button", { name: "Decline" }).click();
      await other.getByText("decline", { exact: true }).waitFor();
      await other.getByRole("button", { name: "Call again" }).click();
      await other.locator(".outcome pre", { hasText: "the files" }).first().waitFor();
      await other.close();
    },

    async "a sign-in that a server behind asks for"() {
      const other = await page.context().browser().newPage();
      const event = (seq, url, time) => `data: ${JSON.stringify({ type: "sign_in", seq, time, data: { url } })}\n\n`;
      await other.route("**/api/events*", (route) => route.fulfill({
        contentType: "text/event-stream",
        body: event(0, "https://over.example/", 0) + event(1, "javascript:alert(1)", 1e15) + event(2, "https://sign.example/in?state=1", 1e15),
      }));
      await other.goto(url);
      const card = other.locator("#questions .question").first();
      await card.getByText("sign.example").waitFor();
      assert.equal(await other.getByText("over.example").count(), 0);
      await card.getByRole("button", { name: "Close" }).click();
      await other.close();
    },

    async "no view breaks a rule of axe or of the layout, in light and dark"() {
      const axe = await readFile(join(process.env.BROWSER, "axe-core/axe.min.js"), "utf8");
      await page.evaluate(axe);
      const check = async (name) => {
        const found = await page.evaluate(async () => {
          const { violations } = await window.axe.run(document, { iframes: false, resultTypes: ["violations"] });
          return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 300)}`).join("; ")}`);
        });
        assert.deepEqual(found, [], name);
        assert.deepEqual(await page.evaluate(layoutProblems), [], name);
        if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${name.replaceAll(/\W+/g, "-")}.png` });
      };
      for (const theme of ["light", "dark"]) {
        if (await page.evaluate(() => document.documentElement.dataset.theme) !== theme) await page.locator("#theme").click();
        await open("values");
        await check(`${theme}, a form`);
        await work.getByRole("button", { name: "Edit as JSON" }).click();
        await work.getByLabel("Arguments as JSON").fill('{"at": 5}');
        await work.locator(".faults").getByText("has no data").waitFor();
        await check(`${theme}, arguments as JSON`);
        await open("attack");
        await submit();
        await outcome.frameLocator("iframe.app").frameLocator("iframe").getByText("tried").waitFor();
        await check(`${theme}, an app`);
        // The browser reports what it has refused to the app.
        errors.length = 0;
        await open("report");
        await label("pages").fill("0");
        await submit();
        await page.locator("#questions").getByText("Which title?").waitFor();
        await check(`${theme}, a question`);
        await page.locator("#questions").getByRole("button", { name: "Decline" }).click();
        await ended("failed");
        await check(`${theme}, an error`);
        await open("notes");
        await submit();
        await ended();
        await outcome.getByRole("button", { name: "As Markdown" }).click();
        await check(`${theme}, a result`);
        await page.getByLabel("Tools as seen by").selectOption("openai");
        await page.locator("#items").getByText("tokens in each conversation").waitFor();
        await check(`${theme}, as a host sees it`);
        await page.getByLabel("Tools as seen by").selectOption("");
        await kind("History");
        await side("Log");
        await check(`${theme}, history and log`);
        await side("Session");
        await check(`${theme}, the session`);
        await side("Trace");
        await page.locator(".trace-list .row").last().click();
        await check(`${theme}, a message`);
        await page.locator(".trace-list").press("Escape");
        await open("where");
        await page.setViewportSize({ width: 390, height: 800 });
        for (const view of ["Browse", "Item", "Trace"]) {
          await page.locator("#views").getByRole("button", { name: view }).click();
          await check(`${theme}, ${view} on a phone`);
        }
        await page.setViewportSize({ width: 1280, height: 800 });
      }
    },
  };

  for (const [name, check] of Object.entries(checks)) {
    if (process.env.ONLY && !name.includes(process.env.ONLY)) continue;
    const begin = performance.now();
    try {
      await check();
      assert.deepEqual(errors, []);
      assert.deepEqual(foreign, []);
    } catch (error) {
      if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/failed.png` });
      throw new Error(`${name}: ${error.message}`, { cause: error });
    }
    console.error(`${name}: ${Math.round(performance.now() - begin)} ms`);
    console.log(name);
  }
});
