// The whole way: the official client, `pmcp`, and a file on this SDK.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const PMCP = process.env.PMCP_BIN ?? here("../../../target/debug/pmcp");
assert.ok(existsSync(PMCP), "build pmcp, or name it in PMCP_BIN");

// A test that fails leaves no process behind.
const opened = [];
afterEach(() => Promise.all(opened.splice(0).map((client) => client.close())));

async function connect(file, mode = "run", { answers = {}, capabilities = {}, ...options } = {}) {
  const transport = new StdioClientTransport({ command: PMCP, args: [mode, file], env: process.env, stderr: "pipe" });
  const client = new Client({ name: "the official client", version: "1" }, { capabilities, ...options });
  const told = [];
  for (const method of [
    "notifications/message",
    "notifications/tools/list_changed",
    "notifications/resources/updated",
  ]) {
    client.setNotificationHandler(method, (event) => void told.push(event));
  }
  for (const [method, answer] of Object.entries(answers)) client.setRequestHandler(method, answer);
  let stderr = "";
  transport.stderr?.on("data", (bytes) => (stderr += bytes));
  opened.push(client);
  await client.connect(transport);
  return {
    client,
    told,
    log: () => stderr,
    call: (name, args = {}, options) => client.callTool({ name, arguments: args }, options),
  };
}

/** Waits for a condition, for as long as a slow machine may take. */
async function eventually(what, holds) {
  for (let left = 600; left > 0; left--) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`${what} has not happened`);
}

const text = (result) => result.content[0].text;

for (const modern of [false, true]) {
  const options = modern ? { versionNegotiation: { mode: "auto" } } : { supportedProtocolVersions: ["2025-11-25"] };
  const revision = modern ? "2026-07-28" : "2025-11-25";

  test(`tools, resources and prompts in ${revision}`, async () => {
    const { client, call, log } = await connect(here("fixtures/tools.mjs"), "run", options);
    assert.equal(client.getNegotiatedProtocolVersion(), revision);
    const { tools } = await client.listTools();
    const add = tools.find(({ name }) => name === "add");
    assert.deepEqual(add.annotations, { readOnlyHint: true, destructiveHint: false });
    assert.deepEqual(Object.keys(add.outputSchema.properties), ["sum"]);
    assert.ok(!tools.some(({ name }) => name === "secret"));

    const sum = await call("add", { a: 2 });
    assert.deepEqual([sum.structuredContent, text(sum)], [{ sum: 3 }, '{"sum":3}']);
    assert.match(text(await call("add", { a: "two" })), /at \/a: /);
    const failed = await call("fail");
    assert.deepEqual([failed.isError, failed._meta["protomcp/error"].error_code], [true, "OUT_OF_PAPER"]);
    assert.equal((await call("picture")).content[0].data, "AQID");
    assert.equal(text(await call("version")), "v0 true wrapped");

    assert.equal(text(await call("large", { size: 200_000 })).length, 200_000);
    const error = await call("large", { size: 200_000, error: true });
    assert.deepEqual([error.isError, text(error).length], [true, 200_000]);

    assert.equal((await client.readResource({ uri: "memo://one" })).contents[0].text, "buy milk");
    const two = await client.readResource({ uri: "memo://two" });
    assert.deepEqual([two.contents[0].text, two._meta.of], ["wash up", "two"]);
    const template = { ref: { type: "ref/resource", uri: "memo://{id}" }, argument: { name: "id", value: "" } };
    assert.equal((await client.complete(template))._meta.of, "ids");
    await assert.rejects(client.readResource({ uri: "memo://three" }));
    const prompt = await client.getPrompt({ name: "explain", arguments: { style: "brief" } });
    assert.equal(prompt.messages[0].content.text, "Explain, brief");
    const ref = { type: "ref/prompt", name: "explain" };
    assert.deepEqual((await client.complete({ ref, argument: { name: "style", value: "l" } })).completion.values, [
      "long",
    ]);

    await client.close();
    await eventually("the stop hook", () => log().includes("the stop hook has run"));
    assert.match(log(), /standard output belongs to the author/);
  });

  test(`questions in ${revision}`, async () => {
    const answers = {
      "elicitation/create": () => ({ action: "accept", content: { sure: true } }),
      "sampling/createMessage": () => ({ role: "assistant", content: { type: "text", text: "hello" }, model: "m" }),
      "roots/list": () => ({ roots: [{ uri: "file:///srv", name: "srv" }] }),
    };
    const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
    const { client, call } = await connect(here("fixtures/tools.mjs"), "run", { ...options, answers, capabilities });
    const { structuredContent } = await call("confirm");
    assert.deepEqual(structuredContent, { sure: true, text: "hello", folders: [{ uri: "file:///srv", name: "srv" }] });
    await client.close();
  });
}

test("a library converts the arguments that its schema does not allow", async () => {
  const { client, call } = await connect(here("fixtures/tools.mjs"));
  const { structuredContent } = await call("coerced", { n: " 5 ", on: "yes", words: "a,b" });
  assert.deepEqual(structuredContent, { n: 5, on: true, words: ["a", "b"] });
  assert.deepEqual((await call("coerced", { n: "6" })).structuredContent.n, 6);
  const wrong = await call("coerced", { n: "five", wrods: [] });
  assert.equal(wrong._meta["protomcp/error"].error_code, "INVALID_ARGUMENTS");
  assert.match(text(wrong), /^invalid arguments for tool "coerced":\n- unknown argument "wrods"; did you mean "words"\?/);
  assert.match(text(await call("coerced", { n: "five" })), /\n- at \/n: .*, got "five"/);
  assert.deepEqual((await call("strict", { n: "5" })).structuredContent, { n: 5 });
  const refused = await call("strict", { n: "five" });
  assert.deepEqual([refused._meta["protomcp/error"].error_code, text(refused).includes('"five"')], ["INVALID_ARGUMENTS", false]);
  await client.close();
});

test("a pattern that backtracks blocks no process", async () => {
  const { client, call } = await connect(here("fixtures/tools.mjs"));
  const long = "a".repeat(41);
  assert.match(text(await call("strict", { a: long })), /^invalid arguments for tool "strict":\n- at \/a: /);
  // The text matches, and JavaScript finds that out after seconds.
  assert.deepEqual((await call("strict", { not: long })).structuredContent, { not: long });
  assert.deepEqual((await call("strict", { twice: "aa" })).structuredContent, { twice: "aa" });
  assert.match(text(await call("strict", { twice: "bb" })), /\n- at \/twice: /);
  await client.close();
});

test("a question that the client cannot answer fails the call", async () => {
  const { client, call } = await connect(here("fixtures/tools.mjs"));
  const result = await call("confirm");
  assert.deepEqual([result.isError, result._meta["protomcp/error"].error_code], [true, "QUESTION_FAILED"]);
  await client.close();
});

test("64 calls overlap, and a cancelled one stops", async () => {
  const { client, call, told } = await connect(here("fixtures/tools.mjs"));
  const start = performance.now();
  await Promise.all(Array.from({ length: 64 }, () => call("sleep", { ms: 500 })));
  assert.ok(performance.now() - start < 64 * 500, "one after the other they take 32 seconds");

  const controller = new AbortController();
  const slow = call("sleep", { ms: 600_000 }, { signal: controller.signal });
  assert.equal(text(await call("active")) > 5, true);
  controller.abort();
  await assert.rejects(slow);
  await eventually("the handler to stop", () => told.some(({ params }) => params?.data === "stopped"));

  const seen = [];
  const onprogress = ({ progress, message }) => seen.push([progress, message]);
  assert.equal(text(await call("count", {}, { onprogress })), "counted");
  await eventually("progress", () => seen.length === 3);
  await client.close();
});

test("a hidden tool is shown to the session that enables it", async () => {
  const { client, call, told } = await connect(here("fixtures/tools.mjs"));
  assert.equal(text(await call("reveal")), "true");
  await eventually("the notification", () => told.some(({ method }) => method.endsWith("tools/list_changed")));
  assert.ok((await client.listTools()).tools.some(({ name }) => name === "secret"));
  await client.close();
});

test("a crash fails its call, and the next one is answered", async () => {
  const { client, call } = await connect(here("fixtures/tools.mjs"));
  const crashed = await call("crash");
  assert.deepEqual([crashed.isError, crashed._meta["protomcp/error"].retryable], [true, true]);
  assert.deepEqual((await call("add", { a: 1 })).structuredContent, { sum: 2 });
  await client.close();
});

test("a forgotten promise is in the log, and ends nothing", async () => {
  const { client, call, log } = await connect(here("fixtures/tools.mjs"));
  const slow = call("sleep", { ms: 500 });
  await call("forget");
  // Runtimes write errors in their own forms.
  await eventually("the log", () => log().split("unhandled rejection:").length >= 4 && /error: forgotten/i.test(log()));
  assert.equal(text(await slow), "slept 500");
  await client.close();
});

test("a save under load loses no call, and serves the new version", async () => {
  const source = readFileSync(here("fixtures/tools.mjs"), "utf8");
  const file = join(mkdtempSync(here("fixtures/.dev-")), "tools.mjs");
  after(() => rmSync(join(file, ".."), { recursive: true, force: true }));
  writeFileSync(file, source);
  const { client, call } = await connect(file, "dev");
  let last = "",
    done = false,
    calls = 0;
  const load = Array.from({ length: 8 }, async () => {
    while (!done) {
      const result = await call("version");
      assert.equal(result.isError ?? false, false, text(result));
      last = text(result);
      calls++;
    }
  });
  for (const version of ["v1", "v2", "v3"]) {
    writeFileSync(file, source.replace('"v0"', `"${version}"`));
    await eventually(version, () => last.startsWith(version));
  }
  writeFileSync(file, "this is not JavaScript");
  await call("sleep", { ms: 1000 });
  assert.equal(last, "v3 true wrapped", "a version that does not start changes nothing");
  done = true;
  await Promise.all(load);
  assert.ok(calls > 30);
  await client.close();
});
