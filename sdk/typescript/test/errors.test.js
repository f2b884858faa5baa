// Unexpected errors of handlers: the type and the message are in the answer, the stack and the name in the log.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { completion, handOver, prompt, resource, resourceTemplate, tool, toolGroup, ToolError } from "protomcp";
import { connect } from "protomcp/testing";

class NotFound extends Error {}

let thrown;
const fails = () => {
  throw thrown;
};
tool({ name: "plain", handler: fails });
tool({ name: "later", handler: async () => fails() });
tool({ name: "task", task: "required", handler: fails });
toolGroup({ name: "of", strategy: "union", actions: { one: { handler: fails } } });
resource({ uri: "a://b", handler: fails });
resourceTemplate({ uriTemplate: "a://c/{d}", handler: fails });
prompt({ name: "ask", handler: fails });
completion("ref/prompt", "ask", "x", fails);
handOver(fails, fails);

let client;
const logged = [];
const { error } = console;
before(async () => {
  client = await connect();
  console.error = (text, ...more) => void logged.push([text, ...more.map((one) => one.stack ?? one)].join(" "));
});
after(() => {
  console.error = error;
  return client.close();
});

/** The answer to each request that runs a handler, by its name in the log. */
const USES = {
  'tool "plain"': async () => (await client.call("plain")).text,
  'tool "later"': async () => (await client.call("later")).text,
  'tool "task"': async () => (await client.call("task")).text,
  'tool "of"': async () => (await client.call("of", { action: "one" })).text,
  'resource "a://b"': () => client.read("a://b"),
  'resource "a://c/d"': () => client.read("a://c/d"),
  'prompt "ask"': () => client.prompt("ask"),
  'completion of "x" of "ask"': () => client.complete("ref/prompt", "ask", "x", ""),
  "the function that gives the state": () => client.handOver(),
  "the function that takes the state": () => client.takeOver(1),
};

test("an unexpected error has its type in the answer, and its stack and name in the log", async () => {
  for (const [value, text] of [
    [new RangeError("no disk"), "RangeError: no disk"],
    [new NotFound("no disk"), "NotFound: no disk"],
    [Object.assign(new Error("no disk"), { name: "DiskError" }), "DiskError: no disk"],
    [new Error("no disk"), "no disk"],
  ]) {
    thrown = value;
    for (const [about, use] of Object.entries(USES)) {
      logged.length = 0;
      const answer = await use().catch((error) => error.message);
      assert.equal(answer, text, about);
      assert.equal(logged.length, 1, about);
      assert.ok(logged[0].startsWith(`${about} failed: `) && /no disk\n {4}at /.test(logged[0]), logged[0]);
    }
  }
});

test("an error that is meant for the caller has no type, and is not in the log", async () => {
  thrown = new ToolError("there is none");
  logged.length = 0;
  for (const [about, use] of Object.entries(USES))
    assert.equal(await use().catch((error) => error.message), "there is none", about);
  assert.deepEqual(logged, []);
});

test("an object that is thrown is shown as JSON", async () => {
  const cyclic = {};
  cyclic.self = cyclic;
  for (const [value, text] of [
    [{ a: 1 }, '{"a":1}'],
    [{ a: 1, message: "no disk" }, "no disk"],
    [[1, "b"], '[1,"b"]'],
    [Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    [{ toString: () => "own" }, "own"],
    ["text", "text"],
    [{}, "the tool has thrown an object without a text"],
    [undefined, "undefined"],
    [cyclic, "the tool has thrown an object without a text"],
    [{ a: "x".repeat(5000) }, `{"a":"${"x".repeat(994)}…`],
  ]) {
    thrown = value;
    assert.equal((await client.call("plain")).text, text);
  }
});
