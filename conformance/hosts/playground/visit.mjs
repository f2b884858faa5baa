// Uses the page of `pmcp playground` in the system's Chromium as a user would, and checks what it shows. Prints the name of
// each check that has passed.
//
// Usage: node visit.mjs URL FILE, with BROWSER, the folder `node_modules` that has playwright-core; FILE is the tool file.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { withPage } from "../chromium.mjs";
import { attack } from "./attack.mjs";
import { layoutProblems } from "./layout.mjs";
import { scrollTrace } from "./scroll.mjs";

const [url, file] = process.argv.slice(2);

await withPage(process.env.BROWSER, async (page) => {
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(url);
  await page.waitForSelector("body[data-ready]");

  const work = page.locator("#item");
  const outcome = work.locator(".outcome").first();
  const kind = (name) => page.locator("#tabs").getByRole("tab", { name }).click();
  const open = async (name) => {
    await kind("Tools");
    await page.locator("#items .item", { has: page.locator(`.title:text-is("${name}")`) }).click();
    await work.getByRole("heading", { name, exact: true }).waitFor();
  };
  const submit = (name = "Call") => work.locator(".form").getByRole("button", { name, exact: true }).click();
  const ended = (state = "ok") => outcome.locator(`.head .badge.${state}`).waitFor();
  const label = (name) => work.locator(".form").getByLabel(name, { exact: true });

  const checks = {
    async "lists of tools, resources, templates and prompts"() {
      assert.ok((await page.locator("#items .item .title").allTextContents()).includes("shapes"));
      for (const [name, item] of [["Resources", "one"], ["Templates", "shelf"], ["Prompts", "greet"]]) {
        await kind(name);
        assert.ok((await page.locator("#items .item .title").allTextContents()).includes(item), name);
      }
      await page.keyboard.press("/");
      await page.keyboard.type("nothing has this name");
      await page.getByText("Nothing matches.").waitFor();
      await page.locator("#search").fill("");
    },

    async "a form for every shape of a schema"() {
      await open("shapes");
      await submit();
      // A text that is required may be empty for the form; the server knows its own rules.
      await label("name").fill("Ada\nLovelace");
      await label("level").selectOption({ label: "3" });
      await label("ratio").fill("0.25");
      await label("exact").fill("12345678901234567890");
      await label("active").selectOption("true");
      await label("day").fill("2026-02-03");
      await label("city").fill("Ulm");
      const tags = work.locator(".list[aria-label=tags]");
      await tags.getByRole("button", { name: "Add item" }).click();
      await tags.getByRole("button", { name: "Add item" }).click();
      await label("tags 1").fill("a");
      await label("tags 2").fill("b");
      await label("Send colours").check();
      await work.getByLabel("green").check();
      await label("Send points").check();
      await work.locator(".list[aria-label=points]").getByRole("button", { name: "Add item" }).click();
      await label("x").fill("1.5");
      await label("Send pair").check();
      await label("pair 1").fill("left");
      await label("pair 2").fill("2");
      await label("Kind of payment").selectOption("Card");
      await label("number").fill("42");
      await label("Send note").check();
      await label("Kind of note").selectOption("null");
      await label("size").selectOption("Large");
      await label("Send labels").check();
      await work.getByRole("button", { name: "Add member" }).click();
      await label("Name").fill("k");
      await label("Value").fill("7");
      await label("Send tree").check();
      await label("value").fill("root");
      await label("Send children").check();
      await work.locator(".list[aria-label=children]").getByRole("button", { name: "Add item" }).click();
      await label("value").nth(1).fill("leaf");
      await label("anything as JSON").fill('{"any": [null]}');
      await submit();
      await ended();
      await outcome.getByRole("button", { name: "As text" }).click();
      const text = await outcome.locator("pre").first().textContent();
      assert.ok(text.includes('"exact": 12345678901234567890'), text);
      assert.deepEqual(JSON.parse(text), {
        name: "Ada\nLovelace", level: 3, ratio: 0.25, exact: 12345678901234567890, active: true, day: "2026-02-03",
        address: { city: "Ulm" }, tags: ["a", "b"], colours: ["green"], points: [{ x: 1.5 }], pair: ["left", 2],
        payment: { kind: "card", number: "42" }, note: null, size: 2, labels: { k: 7 },
        tree: { value: "root", children: [{ value: "leaf" }] }, anything: { any: [null] },
      });
    },

    async "arguments as JSON, and back in the form"() {
      await work.getByRole("button", { name: "Edit as JSON" }).click();
      const json = work.getByLabel("Arguments as JSON", { exact: true });
      const value = JSON.parse(await json.inputValue());
      assert.equal(value.tree.children[0].value, "leaf");
      await json.fill("{");
      await submit();
      await work.getByRole("alert").getByText("not JSON").waitFor();
      await json.fill(JSON.stringify({ ...value, name: "Grace", payment: { kind: "cash" }, tags: ["z"] }));
      await work.getByRole("button", { name: "Edit as form" }).click();
      assert.equal(await label("name").inputValue(), "Grace");
      assert.equal(await label("tags 1").inputValue(), "z");
      assert.equal(await label("Kind of payment").evaluate((field) => field.selectedOptions[0].textContent), "Cash");
      await label("ratio").fill("many");
      await submit();
      await work.getByRole("alert").getByText("ratio: many is not a number").waitFor();
      assert.equal(await label("ratio").getAttribute("aria-invalid"), "true");
    },

    async "content of every type"() {
      await open("content");
      await submit();
      await ended();
      assert.equal(await outcome.locator("pre").first().textContent(), "plain <b>text</b> with a\nsecond line");
      assert.ok(await outcome.getByText("12345678901234567890").isVisible());
      const picture = outcome.locator("img");
      await picture.evaluate((image) => image.decode());
      assert.deepEqual(await picture.evaluate((image) => [image.naturalWidth, image.naturalHeight]), [1, 1]);
      const sound = outcome.locator("audio");
      await sound.evaluate((audio) => audio.readyState || new Promise((resolve) => (audio.onloadedmetadata = resolve)));
      assert.ok(await outcome.getByText("an embedded note").isVisible());
      await outcome.getByRole("button", { name: "A linked note" }).click();
      await outcome.getByText("the first note").waitFor();
    },

    async "resources, templates and prompts with completion"() {
      await kind("Templates");
      await page.locator("#items .item").click();
      await label("shelf").fill("a b");
      await label("title").fill("c");
      await submit("Read");
      await outcome.getByText("note of note://a%20b/c").waitFor();
      await kind("Prompts");
      await page.locator("#items .item").click();
      await label("name").pressSequentially("a");
      await work.locator("datalist option[value=Alan]").first().waitFor({ state: "attached" });
      assert.deepEqual(await work.locator("datalist").first().locator("option").evaluateAll((all) => all.map(({ value }) => value)), ["Ada", "Alan"]);
      await label("name").fill("Ada");
      await submit("Get");
      await outcome.getByText("Greet Ada").waitFor();
    },

    async "progress and cancellation"() {
      await open("slow");
      await label("steps").fill("300");
      await submit();
      await outcome.locator("progress[value]").waitFor();
      await outcome.getByText("of 300").waitFor();
      await outcome.getByRole("button", { name: "Cancel" }).click();
      await ended("cancelled");
      await page.locator(".trace-list .row", { hasText: "notifications/cancelled" }).waitFor();
    },

    async "logs of the tool and of the bridge"() {
      await open("logs");
      await label("text").fill("a word");
      await submit();
      await ended();
      await page.getByRole("tab", { name: "Log" }).click();
      await page.locator("#log .warning", { hasText: "logged a word" }).waitFor();
      await page.locator("#log p", { hasText: "printed a word" }).last().waitFor();
      await page.getByLabel("Level of the tool's log").selectOption("debug");
      await page.locator("#side").getByRole("tab", { name: "Trace" }).click();
      await page.locator(".trace-list .row", { hasText: "logging/setLevel response" }).waitFor();
    },

    async "questions to the user, as a form and as a page"() {
      await open("ask_user");
      await submit();
      const question = page.locator("#questions");
      await question.getByText("Who are you?").waitFor();
      await question.getByLabel("user", { exact: true }).fill("Ada");
      await question.getByRole("button", { name: "Answer" }).click();
      await question.getByText("Please sign in.").waitFor();
      assert.ok(await question.getByText("https://example.com/sign-in").isVisible());
      await question.getByRole("button", { name: "Decline" }).click();
      await outcome.getByText('accept {"user": "Ada"}, decline').waitFor();
      await submit();
      await question.getByLabel("user", { exact: true }).fill("Ada");
      await question.getByRole("button", { name: "Answer" }).click();
      const [opened] = await Promise.all([
        page.context().waitForEvent("page"),
        question.getByRole("button", { name: "Open the page" }).click(),
      ]);
      await outcome.getByText('accept {"user": "Ada"}, accept').waitFor();
      await opened.close();
    },

    async "questions to the model, answered by the user"() {
      await open("ask_model");
      await submit();
      const question = page.locator("#questions");
      await question.getByText("What is the capital?").waitFor();
      assert.ok(await question.getByText("Be brief.").isVisible());
      await question.getByLabel("Answer of the model").fill("Ulm");
      await question.getByRole("button", { name: "Answer", exact: true }).click();
      await ended();
      assert.match(await outcome.textContent(), /"?content"?:.*Ulm/s);
    },

    async "the error of a tool"() {
      await open("fail");
      await submit();
      await ended("failed");
      await outcome.getByText("it has failed as it should").first().waitFor();
    },

    async "an app in its sandbox"() {
      await open("board");
      await label("text").fill("hello");
      await submit();
      const app = outcome.frameLocator("iframe.app").frameLocator("iframe");
      await app.getByText("board hello").waitFor();
      errors.length = 0;
      await app.getByRole("button", { name: "Add" }).click();
      await app.getByText("42, kept inside, unreachable").waitFor();
      // The browser reports the request that the policy of the app forbids.
      errors.length = 0;
    },

    async "a result of 20 MB"() {
      await open("large");
      await label("megabytes").fill("20");
      await submit();
      await ended();
      await outcome.getByRole("button", { name: "Show all 20 MB" }).waitFor();
      assert.equal(await outcome.locator("pre").first().evaluate((pre) => pre.textContent.length), 100_000);
      await page.locator(".trace-list .row", { hasText: "tools/call response" }).last().waitFor();
    },

    async "history with the arguments and the result"() {
      await kind("History");
      await page.locator("#items .item", { hasText: "logs" }).click();
      assert.equal(await label("text").inputValue(), "a word");
      await outcome.getByText("logged").first().waitFor();
    },

    async "the trace of both wires, searched, filtered and exported"() {
      const list = page.locator(".trace-list");
      const search = page.getByLabel("Search messages");
      await search.fill("lovelace");
      await list.locator(".row.mcp", { hasText: "tools/call" }).first().waitFor();
      await list.locator(".row.tool", { hasText: "call_tool" }).first().waitFor();
      await page.getByLabel("Wire").selectOption("Tool");
      assert.equal(await list.locator(".row.mcp").count(), 0);
      await list.locator(".row.tool", { hasText: "call_tool" }).first().click();
      await page.locator(".trace-detail").getByText("arguments_json").waitFor();
      await list.press("ArrowDown");
      await page.locator(".trace-detail").getByText("call_result").first().waitFor();
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export" }).click()]);
      const lines = (await readFile(await download.path(), "utf8")).trim().split("\n").map((line) => JSON.parse(line));
      const [header, ...exported] = lines;
      assert.deepEqual([header.trace, header.version], ["mcp", 2]);
      assert.deepEqual([...new Set(exported.map(({ wire }) => wire))], ["tool"]);
      assert.equal(typeof exported.find(({ message }) => message.call_tool).message.call_tool.arguments_json, "string");
      await search.fill("");
      await page.getByLabel("Wire").selectOption("Both wires");
      await list.press("Escape");
    },

    async "a change of the file while a call runs"() {
      await open("slow");
      await label("steps").fill("20");
      await submit();
      await outcome.locator("progress[value]").waitFor();
      const text = await readFile(file, "utf8");
      const code = '@tool\nasync def added_later(word: str) -> str:\n    """Is new."""\n    return word\n\n\nif __name__';
      await writeFile(file, text.replace("Adds two numbers.", "Adds two whole numbers.").replace("if __name__", code));
      const added = page.locator("#items .item", { hasText: "added_later" });
      await added.locator(".badge.new").waitFor();
      await page.locator("#items .item", { hasText: "Adds two whole numbers." }).waitFor();
      await outcome.getByText("slow is done").waitFor();
      assert.equal(await label("steps").inputValue(), "20");
      // A press that begins before a change of the list ends after it.
      await added.hover();
      await page.mouse.down();
      await writeFile(file, (await readFile(file, "utf8")).replace("Is new.", "Is newer."));
      await added.getByText("Is newer.").waitFor();
      await page.mouse.up();
      await work.getByRole("heading", { name: "added_later", exact: true }).waitFor();
      const lists = page.locator(".trace-list .row.tool", { hasText: "list_tools" });
      await page.getByLabel("Search messages").fill("list_tools");
      const before = await lists.count();
      await page.getByRole("button", { name: "Reload", exact: true }).click();
      await lists.nth(before).waitFor();
      await page.getByLabel("Search messages").fill("");
      await open("added_later");
    },

    async "10,000 messages that scroll smoothly"() {
      const seen = await page.evaluate(scrollTrace);
      console.error(JSON.stringify(seen));
      assert.equal(seen.count, 10_000);
      assert.equal(seen.end, "tools/call");
      assert.ok(seen.rows < 100, `${seen.rows} elements`);
      assert.ok(seen.p95 < 50, `${seen.p95} ms`);
    },

    async "light and dark, wide and narrow, without overlaps"() {
      for (const theme of ["light", "dark"]) {
        if (await page.evaluate(() => document.documentElement.dataset.theme) !== theme) await page.locator("#theme").click();
        const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        assert.equal(ground, theme === "light" ? "rgb(255, 255, 255)" : "rgb(16, 20, 28)");
        for (const width of [1280, 390]) {
          await page.setViewportSize({ width, height: 800 });
          for (const item of ["shapes", "content"]) {
            if (width === 390) await page.locator("#views").getByRole("button", { name: "Browse" }).click();
            await open(item);
            if (item === "content") {
              await submit();
              await ended();
            }
            const views = width === 390 ? ["Browse", "Item", "Trace"] : [null];
            for (const view of views) {
              if (view) await page.locator("#views").getByRole("button", { name: view }).click();
              const problems = await page.evaluate(layoutProblems);
              assert.equal(problems.join("\n"), "", `${theme} ${width} ${item} ${view}: ${problems.join("\n")}`);
              if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${theme}-${width}-${item}-${view}.png` });
            }
          }
        }
      }
      await page.setViewportSize({ width: 1280, height: 800 });
    },

    async "use by the keyboard, with names for everything"() {
      await kind("Tools");
      const nameless = await page.evaluate(() => [...document.querySelectorAll("button, input, select, textarea, iframe, [role]")]
        .filter((element) => element.checkVisibility())
        .filter((element) => !(element.ariaLabel || element.getAttribute("aria-labelledby") || element.labels?.length || element.textContent.trim() || element.title || element.role === "status"))
        .map((element) => element.outerHTML.slice(0, 100)));
      assert.deepEqual(nameless, []);
      await page.locator("#tab-tools").focus();
      await page.keyboard.press("ArrowRight");
      assert.equal(await page.locator("#tab-resources").getAttribute("aria-selected"), "true");
      await page.keyboard.press("ArrowLeft");
      await page.locator("#items .item").first().focus();
      await page.keyboard.press("Enter");
      await work.getByRole("heading", { name: "add", exact: true }).waitFor();
      await label("a").focus();
      await page.keyboard.type("20");
      await page.keyboard.press("Tab");
      await page.keyboard.type("3");
      await page.keyboard.press("Control+Enter");
      await outcome.getByText("23").first().waitFor();
    },

    async "a page of another origin gets nothing"() {
      const found = await attack(page.context().browser(), url);
      assert.deepEqual(found, {
        page: "TypeError", mcp: "TypeError", plain: "TypeError", blind: "opaque", trace: "TypeError", events: "TypeError",
        framed: "blocked", socket: "refused",
      });
      // A request of the same tab without the token is refused as well; the one with `no-cors` has reloaded nothing.
      const status = (path, headers = {}) => page.evaluate(async ([path, headers]) => (await fetch(path, { headers })).status, [path, headers]);
      assert.equal(await status("/api/trace"), 401);
      assert.equal(await status("/api/trace", { authorization: "Bearer wrong" }), 401);
      errors.length = 0;
    },

    async "a wrong token is explained"() {
      const other = await page.context().browser().newPage();
      await other.goto(`${new URL(url).origin}/#token=wrong`);
      await other.getByText("wrong token").waitFor();
      await other.getByText("it contains the token").waitFor();
      await other.close();
    },
  };

  for (const [name, check] of Object.entries(checks)) {
    if (process.env.ONLY && !name.includes(process.env.ONLY)) continue;
    const begin = performance.now();
    try {
      await check();
      assert.deepEqual(errors, []);
    } catch (error) {
      if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/failed.png` });
      throw new Error(`${name}: ${error.message}`, { cause: error });
    }
    console.error(`${name}: ${Math.round(performance.now() - begin)} ms`);
    console.log(name);
  }
});
