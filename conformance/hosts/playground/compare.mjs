// The same ten actions of a person in the page of `pmcp playground` and in the official inspector, with the same server.
// Prints a row of Markdown for each: the action, and who can do it.
//
// Usage: node compare.mjs URL COMMAND..., with BROWSER, the folder `node_modules` that has playwright-core; INSPECTOR, the script
// of the inspector; HOME, a folder for what it keeps. COMMAND serves the tools on standard input and output.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { withPage } from "../chromium.mjs";

const [url, ...command] = process.argv.slice(2);

/** A port that is free now: the inspector takes no 0. */
async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return String(port);
}

/** Starts the inspector. Returns its URL and a function that ends it. */
async function inspector() {
  const env = { ...process.env, MCP_AUTO_OPEN_ENABLED: "false", CLIENT_PORT: await freePort(), MCP_SANDBOX_PORT: await freePort(), MCP_INSPECTOR_SECRET_STORE: "memory" };
  const running = spawn(process.execPath, [process.env.INSPECTOR, "--web", "--", ...command], { env, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  const found = await new Promise((resolve, reject) => {
    const read = (piece) => {
      text += piece;
      const match = /http:\/\/\S+[?&]MCP_INSPECTOR_API_TOKEN=\w+/.exec(text);
      if (match) resolve(match[0]);
    };
    running.stdout.on("data", read);
    running.stderr.on("data", read);
    running.on("exit", () => reject(new Error(`the inspector has ended: ${text}`)));
  });
  return { url: found, end: () => running.kill() };
}

/** The actions in the playground. */
function ours(page) {
  const work = page.locator("#item");
  const outcome = work.locator(".outcome").first();
  const question = page.locator("#questions");
  const label = (name) => work.locator(".form").getByLabel(name, { exact: true });
  const kind = (name) => page.locator("#tabs").getByRole("tab", { name }).click();
  const tool = async (name) => {
    await kind("Tools");
    await page.locator("#items .item", { has: page.locator(`.title:text-is("${name}")`) }).click();
    await work.getByRole("heading", { name, exact: true }).waitFor();
  };
  const run = (name = "Call") => work.locator(".form").getByRole("button", { name, exact: true }).click();
  return {
    tool,
    run,
    numbers: async (a, b) => (await label("a").fill(a), await label("b").fill(b)),
    shows: (text) => outcome.getByText(text).first().waitFor(),
    picture: () => outcome.locator("img").first().evaluate((image) => image.decode()),
    async choosesVariant() {
      await label("Kind of payment").selectOption("Card");
      await label("number").fill("42");
      return true;
    },
    steps: (count) => label("steps").fill(count),
    progress: () => outcome.getByText(/\d+ of 300/).waitFor(),
    cancel: () => outcome.getByRole("button", { name: "Cancel" }).click(),
    cancelled: () => outcome.locator(".badge.cancelled").waitFor(),
    async answersForm() {
      await question.getByLabel("user", { exact: true }).fill("Ada");
      await question.getByRole("button", { name: "Answer" }).click();
      await question.getByText("Please sign in.").waitFor();
    },
    async declinesPage() {
      await question.getByRole("button", { name: "Decline" }).click();
      await outcome.getByText('accept {"user": "Ada"}, decline').waitFor();
      return true;
    },
    async answersModel() {
      await question.getByLabel("Answer of the model").fill("Ulm");
      await question.getByRole("button", { name: "Answer", exact: true }).click();
    },
    async readsResource() {
      await kind("Resources");
      await page.locator("#items .item", { hasText: "note://one" }).or(page.locator("#items .item", { hasText: "one" })).first().click();
      await run("Read");
      await outcome.getByText("the first note").waitFor();
    },
    async completesPrompt() {
      await kind("Prompts");
      await page.locator("#items .item").first().click();
      await label("name").pressSequentially("a");
      await work.locator("datalist option[value=Alan]").first().waitFor({ state: "attached" });
    },
    async opensApp() {
      await tool("board");
      await label("text").fill("hello");
      await run();
      await outcome.frameLocator("iframe.app").frameLocator("iframe").getByText("board hello").waitFor();
    },
  };
}

/** The actions in the inspector. */
function theirs(page) {
  const nav = (name) => page.locator("label", { hasText: new RegExp(`^${name}$`) }).first().click();
  const tool = async (name) => {
    await nav("Tools");
    // The name may be followed by a warning.
    await page.getByRole("button", { name: new RegExp(`^${name}\\b`) }).first().click();
  };
  const field = (name) => page.getByRole("textbox", { name: new RegExp(`^${name}\\b`) });
  const dialog = page.getByRole("dialog");
  return {
    tool,
    run: () => page.getByRole("button", { name: "Execute Tool" }).click(),
    numbers: async (a, b) => (await field("a").fill(a), await field("b").fill(b)),
    shows: (text) => page.getByText(text).first().waitFor(),
    picture: () => page.locator("main img, img[src^='data:image']").last().evaluate((image) => image.decode()),
    // The field of the union is an editor of JSON.
    choosesVariant: async () => (await page.getByText("payment").first().waitFor(), await page.getByRole("textbox", { name: /^payment, Cursor/ }).count() === 0),
    steps: (count) => field("steps").fill(count),
    progress: () => page.getByText(/\d+ \/ 300/).first().waitFor(),
    cancel: () => page.getByRole("button", { name: "Cancel", exact: true }).first().click(),
    cancelled: () => page.getByText("Tool call cancelled").first().waitFor(),
    async answersForm() {
      await dialog.getByRole("textbox", { name: "User name" }).fill("Ada");
      await dialog.getByRole("button", { name: "Submit" }).click();
      await dialog.getByText("Please sign in.").waitFor();
    },
    async declinesPage() {
      const has = await dialog.getByRole("button", { name: "Decline" }).count() > 0;
      await dialog.getByRole("button", { name: has ? "Decline" : "Cancel" }).last().click();
      await page.getByText('accept {"user": "Ada"}').first().waitFor();
      return has;
    },
    async answersModel() {
      await dialog.getByRole("textbox", { name: "Response" }).fill("Ulm");
      await dialog.getByRole("button", { name: "Send Response" }).click();
    },
    async readsResource() {
      await nav("Resources");
      await page.getByText("one", { exact: true }).first().click();
      await page.getByText("the first note").waitFor();
    },
    async completesPrompt() {
      await nav("Prompts");
      await page.getByText("greet", { exact: true }).first().click();
      await field("name").pressSequentially("a");
      await page.getByRole("option", { name: "Alan" }).waitFor();
    },
    async opensApp() {
      await nav("Apps");
      await page.getByText("board", { exact: true }).first().click();
      await field("text").fill("hello");
      await page.getByRole("button", { name: "Open App" }).click();
      await page.frameLocator("iframe").frameLocator("iframe").getByText("board hello").waitFor();
    },
  };
}

/** Each returns false if a person cannot do it; everything else that fails is an error. */
const ACTIONS = {
  async "fills in a form with numbers, and calls"(it) {
    await it.tool("add");
    await it.numbers("20", "3");
    await it.run();
    await it.shows("23");
  },
  async "chooses a variant of a union without writing JSON"(it) {
    await it.tool("shapes");
    return it.choosesVariant();
  },
  async "sees a picture in a result"(it) {
    await it.tool("content");
    await it.run();
    await it.shows("plain <b>text</b>");
    await it.picture();
  },
  async "sees progress, and cancels"(it) {
    await it.tool("slow");
    await it.steps("300");
    await it.run();
    await it.progress();
    await it.cancel();
    await it.cancelled();
  },
  async "answers a form of a tool"(it) {
    await it.tool("ask_user");
    await it.run();
    await it.answersForm();
  },
  "declines a page that a tool wants to open": (it) => it.declinesPage(),
  async "answers in place of the model"(it) {
    await it.tool("ask_model");
    await it.run();
    await it.answersModel();
    await it.shows(/Ulm/);
  },
  "reads a resource": (it) => it.readsResource(),
  "gets completions for an argument of a prompt": (it) => it.completesPrompt(),
  "opens an MCP App": (it) => it.opensApp(),
};

async function attempt(page, it, who) {
  const can = {};
  for (const [name, action] of Object.entries(ACTIONS)) {
    try {
      can[name] = (await action(it)) !== false;
    } catch (error) {
      if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/compare.png` });
      throw new Error(`${who}: ${name}: ${error.message}`, { cause: error });
    }
  }
  return can;
}

const other = await inspector();
try {
  await withPage(process.env.BROWSER, async (page) => {
    await page.setViewportSize({ width: 1400, height: 900 });
    await page.goto(url);
    await page.waitForSelector("body[data-ready]");
    const own = await attempt(page, ours(page), "playground");
    await page.goto(other.url);
    await page.getByRole("switch").first().click({ force: true });
    await page.getByText("MCP 2025-11-25").waitFor();
    const official = await attempt(page, theirs(page), "inspector");
    const word = (can) => (can ? "yes" : "no");
    for (const name of Object.keys(ACTIONS)) console.log(`| ${name} | ${word(own[name])} | ${word(official[name])} |`);
  });
} finally {
  other.end();
}
