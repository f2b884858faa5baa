// Answers that cannot be written: one of them ends no other, and its author reads the name of the declaration.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { middleware, prompt, resource, resourceTemplate, tool, ToolResult } from "protomcp";
import { connect } from "protomcp/testing";

import { intercept } from "../src/session/intercept.js";
import { registry } from "../src/registry.js";

let client;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
tool({
  name: "task",
  task: "required",
  handler: async (_, { progress }) => {
    await pause(5);
    progress(NaN, "all", { text: "x" });
    await pause(20);
    return new ToolResult({ content: "x", enable: [1] });
  },
});
tool({ name: "alive", handler: () => "yes" });
tool({
  name: "fractions",
  handler: (_, { progress }) => {
    for (const [done, total] of [[1, 2], [1.5, 2], [2, 2.0], [NaN, Infinity], [1e307, -1e307]]) progress(done, total);
    return "done";
  },
});
middleware({ name: "strict", before: ({ args }) => ({ reject: args.bad && "it is bad" }) });
before(async () => {
  client = await connect();
});

const circle = {};
circle.self = circle;
const handler = () => "x";

/** The lines of the log while `work` runs. */
async function logOf(work) {
  const lines = [];
  const { error } = console;
  console.error = (...parts) => lines.push(parts.map(String).join(" "));
  try {
    await work();
  } finally {
    console.error = error;
  }
  return lines;
}

test("a result of a task that cannot be sent is an error", async () => {
  let result;
  const [line] = await logOf(async () => (result = await client.call("task")));
  assert.match(line, /^the answer to taskResult cannot be sent:/);
  assert.equal(result.isError, true);
  assert.match(result.text, /a text was expected, not a value of type number/);
  assert.equal((await client.call("alive")).text, "yes");
});

test("a definition without a form in JSON is left out", async () => {
  const declared = [
    resource({ uri: "x://big", meta: { n: 1n }, handler }),
    resource({ uri: "x://a", meta: circle, handler }),
    resourceTemplate({ uriTemplate: "x://of/{b}", annotations: circle, handler }),
    prompt({ name: "p", icons: circle, handler }),
  ];
  const log = await logOf(async () => {
    assert.deepEqual((await client.resources()).map(({ uri, metadataJson }) => [uri, metadataJson]), [["x://big", '{"n":1}']]);
    assert.deepEqual(await client.prompts(), []);
  });
  assert.match(log[0], /^the option meta of resource "x:\/\/a" has no form in JSON: /);
  assert.match(log[1], /^the option icons of prompt "p" has no form in JSON: /);
  declared[0].remove();
  for (const one of declared.slice(1)) {
    await logOf(() => assert.rejects(connect(), /has no form in JSON/));
    one.remove();
  }
  await (await connect()).close();
});

test("a part of a declaration that is not a text is named", () => {
  const cases = [
    [() => tool({ name: "t", title: 5, handler }), 'tool "t": title is a text, not a value of type number'],
    [() => resource({ uri: "x://c", mimeType: {}, handler }), 'resource "x://c": mimeType is a text, not a value of type object'],
    [() => resource({ uri: new URL("x://c"), handler }), "a resource: uri is a text, not a value of type object"],
    [
      () => prompt({ name: "q", arguments: [{ name: "a", description: 5 }], handler }),
      'prompt "q", argument "a": description is a text, not a value of type number',
    ],
  ];
  for (const [declare, message] of cases) assert.throws(declare, { message });
});

test("a body of a resource that is not one is refused", async () => {
  let body;
  const declared = resource({ uri: "x://body", handler: () => body });
  for (const [given, shown] of [
    [{ a: 1 }, '{"a":1}'],
    [5, "5"],
    [[{ a: 1 }], '{"a":1}'],
    [["a", null], "null"],
    [{ text: null }, '{"text":null}'],
    [{ blob: "AQI=" }, '{"blob":"AQI="}'],
  ]) {
    body = given;
    const message = `the body of "x://body" is ${shown}: return a text, bytes, { text } or { blob: bytes }, or a list of them`;
    await logOf(() => assert.rejects(client.read("x://body"), { message }));
  }
  const one = new Uint8Array([1, 2]);
  for (body of [one, one.buffer, [one.buffer], { blob: one.buffer }])
    assert.deepEqual([...(await client.read("x://body"))[0].blob], [1, 2]);
  for (body of ["", { text: "" }]) assert.deepEqual((await client.read("x://body")).map(({ text }) => text), [""]);
  body = new Error("no disk");
  await logOf(() => assert.rejects(client.read("x://body"), /no disk/));
  declared.remove();
});

test("a message of a prompt that is not one is refused", async () => {
  let body;
  const declared = prompt({ name: "said", handler: () => body });
  for (const [given, shown] of [
    [undefined, "undefined"],
    [{ a: 1 }, '{"a":1}'],
    [["x", null], "null"],
    [{ role: "user", content: ["x"] }, '{"role":"user","content":["x"]}'],
    [{ messages: [{ content: { type: "text" } }] }, '{"content":{"type":"text"}}'],
  ]) {
    body = given;
    const message = `a message of prompt "said" is ${shown}: return a text, a content block or { role, content }, or a list of them`;
    await logOf(() => assert.rejects(client.prompt("said"), { message }));
  }
  for (const [given, text] of [
    [7, "7"],
    [{ type: "text", text: "x" }, "x"],
    [{ messages: [{ role: "assistant", content: "y" }] }, "y"],
  ]) {
    body = given;
    assert.deepEqual((await client.prompt("said")).messages.map(({ content }) => content.text), [text]);
  }
  body = new Error("no disk");
  await logOf(() => assert.rejects(client.prompt("said"), /no disk/));
  declared.remove();
});

test("fractions of progress are thousandths, from the first one on", async () => {
  const seen = [];
  const onProgress = ({ progress, total }) => seen.push([progress, total]);
  assert.equal((await client.call("fractions", {}, { onProgress })).text, "done");
  const most = Number.MAX_SAFE_INTEGER;
  assert.deepEqual(seen, [[1, 2], [1500, 2000], [2000, 2000], [0, 0], [most, -most]]);
});

test("a condition without a reason lets a call go on", async () => {
  for (const [bad, rejects] of [[true, true], [false, false], [undefined, false], [null, false], [0, false]]) {
    const request = { middlewareName: "strict", phase: "before", argumentsJson: JSON.stringify({ bad }), resultJson: "" };
    const { reject, rejectReason } = await intercept(registry, request);
    assert.deepEqual([reject, rejectReason], [rejects, rejects ? "it is bad" : ""]);
  }
});

test("any other value rejects a call", async () => {
  for (const [given, reason] of [["no", "no"], ["", ""], [true, ""], [new Error("broken"), "broken"], [5, "5"]]) {
    registry.middleware.set("guard", { name: "guard", before: () => ({ reject: given }) });
    const request = { middlewareName: "guard", phase: "before", argumentsJson: "{}", resultJson: "" };
    const { reject, rejectReason } = await intercept(registry, request);
    assert.deepEqual([reject, rejectReason], [true, reason]);
  }
  registry.middleware.delete("guard");
});

test("arguments of prompts are decoded for JSON Schema", async () => {
  const properties = {
    n: { type: "integer" },
    x: { anyOf: [{ type: "number" }, { type: "null" }] },
    on: { type: ["boolean", "null"] },
    level: { $ref: "#/$defs/level" },
    id: { type: ["string", "integer"] },
    any: {},
    labels: { type: "array", items: { type: "string" } },
    place: { $ref: "#/$defs/place" },
    either: { anyOf: [{ type: "array" }, { type: "string" }] },
    pair: { enum: [[1, 2], [3, 4]] },
  };
  const $defs = { level: { enum: [1, 2] }, place: { type: "object", properties: { at: { type: "number" } } } };
  const declared = prompt({
    name: "decoded",
    input: { type: "object", properties, $defs },
    handler: (args) => JSON.stringify(args),
  });
  const decoded = async (args) => (await client.prompt("decoded", args)).messages[0].content.text;
  const all = { n: "3", x: "-1.5e2", on: "false", level: "2", id: "7", any: "8" };
  assert.equal(await decoded(all), '{"n":3,"x":-150,"on":false,"level":2,"id":"7","any":"8"}');
  const compound = { labels: ' ["a", "b"]', place: '{"at":1}', either: "[]", pair: "[3, 4]" };
  assert.equal(await decoded(compound), '{"labels":["a","b"],"place":{"at":1},"either":"[]","pair":[3,4]}');
  for (const [args, message] of [
    [{ labels: '{"a":1}' }, /at \/labels: expected array/],
    [{ labels: "[1]" }, /at \/labels\/0: expected string/],
    [{ labels: "a, b" }, /at \/labels: .*"a, b"/],
    [{ place: "null" }, /at \/place: .*"null"/],
    [{ place: "[]" }, /at \/place/],
    [{ n: "three" }, /at \/n: .*"three"/],
    [{ n: "1.5" }, /at \/n: .*1\.5/],
    [{ n: "9007199254740993" }, /at \/n: .*"9007199254740993"/],
    [{ n: "" }, /at \/n/],
    [{ x: "1e999" }, /at \/x/],
    [{ on: "yes" }, /at \/on/],
    [{ level: "3" }, /at \/level/],
  ])
    await assert.rejects(client.prompt("decoded", args), message);
  declared.remove();
});
