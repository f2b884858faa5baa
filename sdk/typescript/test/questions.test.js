// Questions of handlers to the user, the model, and for roots.
import assert from "node:assert/strict";
import { test } from "node:test";

import { prompt, AskError, resource, tool } from "protomcp";
import { connect } from "protomcp/testing";
import { z } from "zod";

const form = z.object({ sure: z.boolean(), mail: z.email().optional() });
tool({ name: "confirm", handler: async (_, { ask }) => ask("Sure?", form, { key: "sure" }) });
tool({
  name: "visit",
  handler: async (_, { askPage, pageCompleted }) =>
    (await askPage("Log in", new URL("https://example.org/in"), { id: "v1", key: "in" })).accepted
      ? pageCompleted("v1")
      : "no",
});
tool({
  name: "write",
  handler: async (_, { sample }) => (await sample("Say hi", { maxTokens: 5, systemPrompt: "short", temperature: 0 })).text,
});
tool({ name: "folders", handler: async (_, { roots }) => roots() });
tool({
  name: "together",
  handler: async (_, { ask, sample, roots }) => {
    const [name, greeting, folders] = await Promise.all([
      ask("Name?", { type: "object", properties: { name: { type: "string" } } }, { key: "name" }),
      sample("Greet", { key: "greeting" }),
      roots({ key: "folders" }),
    ]);
    return { name: name.content?.name, greeting: greeting.text, folders: folders.length };
  },
});
resource({ uri: "x://asks", handler: async (_, { sample }) => (await sample("content?")).text });
prompt({ name: "asks", handler: async (_, { ask }) => `sure: ${(await ask("Sure?", form)).content?.sure}` });

test("forms are answered, declined, and checked", async () => {
  const seen = [];
  const answers = [
    { action: "accept", content: { sure: true } },
    { action: "decline" },
    { action: "accept", content: { sure: "yes" } },
  ];
  const client = await connect({ ask: (question) => (seen.push(question), answers.shift()) });
  assert.deepEqual((await client.call("confirm")).structured, {
    action: "accept",
    content: { sure: true },
    accepted: true,
  });
  assert.deepEqual((await client.call("confirm")).structured, { action: "decline", accepted: false });
  assert.match((await client.call("confirm")).text, /does not fit the form: at \/sure/);
  assert.deepEqual([seen[0].message, seen[0].key], ["Sure?", "sure"]);
  assert.deepEqual(
    seen[0].schema.properties.mail,
    { type: "string", format: "email" },
    "MCP allows no pattern next to a format",
  );
});

test("pages, the model and roots", async () => {
  const seen = [];
  const client = await connect({
    ask: ({ url, key }) => (seen.push(url, key), { action: "accept" }),
    sample: ({ messages, systemPrompt }) => `${systemPrompt}: ${messages[0].content.text}`,
    roots: [{ uri: "file:///srv", name: "srv" }],
  });
  assert.equal((await client.call("visit")).isError, false);
  assert.deepEqual(seen, ["https://example.org/in", "in"]);
  assert.equal((await client.call("write")).text, "short: Say hi");
  assert.equal((await client.call("folders")).text, '[{"uri":"file:///srv","name":"srv"}]');
  assert.equal((await client.read("x://asks"))[0].text, ": content?");
});

test("questions that are asked concurrently go together", async () => {
  const seen = [];
  const client = await connect({
    ask: ({ key }) => (seen.push(key), { action: "accept", content: { name: "Ada" } }),
    sample: ({ key }) => (seen.push(key), "Hello"),
    roots: [],
  });
  assert.deepEqual((await client.call("together")).structured, { name: "Ada", greeting: "Hello", folders: 0 });
  assert.deepEqual(seen, ["name", "greeting"]);
});

test("a question without an answer fails its call with the reason", async () => {
  const client = await connect();
  for (const name of ["confirm", "write", "folders"])
    assert.match((await client.call(name)).text, /the client (cannot|has no)/);
  assert.match((await (await connect({ features: [] })).call("confirm")).text, /this bridge does not know questions/);
  await assert.rejects(client.prompt("asks"), /cannot ask its user/);
});

test("the end of a call ends its questions", async () => {
  let reason;
  tool({
    name: "leaves",
    handler: (_, { ask }) => {
      ask("Sure?", form).catch((error) => (reason = error));
      return "gone";
    },
  });
  const client = await connect({ ask: () => new Promise(() => {}) });
  assert.equal((await client.call("leaves")).text, "gone");
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(reason instanceof AskError);
});

test("an answer of a test that says nothing fails its question with the reason", async () => {
  for (const [answers, name, text] of [
    [{ ask: () => ({ sure: true }) }, "confirm", /ask has answered \{"sure":true\}: return \{ action: "accept", content: … \}/],
    [{ ask: () => ({ action: "accepted" }) }, "confirm", /ask has answered \{"action":"accepted"\}/],
    [{ ask: () => true }, "confirm", /ask has answered true/],
    [{ ask: async () => undefined }, "visit", /ask has answered undefined/],
    [{ ask: () => { throw new RangeError("no user"); } }, "confirm", /RangeError: no user/],
    [{ sample: () => ({ text: "hi" }) }, "write", /sample has answered \{"text":"hi"\}: return a text/],
  ]) {
    const client = await connect(answers);
    const found = await client.call(name);
    assert.deepEqual([found.isError, found.error.code], [true, "QUESTION_FAILED"]);
    assert.match(found.text, text);
    await client.close();
  }
});

test("a number that is infinite in JavaScript is named, and reaches no handler", async (t) => {
  const any = tool({ name: "any", input: { type: "object" }, handler: () => assert.fail("it is not called") });
  const typed = tool({
    name: "zod",
    input: z.object({ of: z.array(z.any()) }),
    handler: () => assert.fail("it is not called"),
  });
  const asked = prompt({ name: "any", handler: () => assert.fail("it is not called") });
  const question = tool({ name: "number", handler: (_, { ask }) => ask("How much?", { properties: { n: { type: "number" } } }) });
  const fits = tool({ name: "fits", input: { type: "object" }, handler: (args) => args });
  const { stringify } = JSON;
  // The client of the tests writes JSON of values, and no value is written as 1e999.
  JSON.stringify = (value, ...rest) => stringify(value, ...rest)?.replace(/"@([^"]*)"/g, "$1");
  const client = await connect({ ask: () => ({ action: "accept", content: { n: "@1e999" } }) });
  t.after(async () => {
    JSON.stringify = stringify;
    for (const declared of [any, typed, asked, question, fits]) declared.remove();
    await client.close();
  });
  for (const number of ["1e999", "-1E+400", `1${"0".repeat(400)}`, "9".repeat(4301), `${"9".repeat(400)}.5`]) {
    const complaint = /^invalid arguments for tool "\w+":\n- at \/of\/0: expected a number within ±1.8e308/;
    for (const name of ["any", "zod"]) assert.match((await client.call(name, { of: [`@${number}`] })).text, complaint);
    await assert.rejects(client.prompt("any", { of: `@${number}` }), /prompt "any":\n- at \/of: expected a number within/);
  }
  assert.match((await client.call("number")).text, /at \/n: expected a number within/);
  assert.deepEqual((await client.call("fits", { a: "@1e300", b: "2e999" })).structured, { a: 1e300, b: "2e999" });
});
