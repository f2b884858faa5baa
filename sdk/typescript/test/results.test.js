// Results whose JSON is not what their type says: dates, URLs, boxed values, Maps, errors.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { text, tool, toolGroup, ToolError, ToolResult, workflow } from "protomcp";
import { connect } from "protomcp/testing";
import { z } from "zod";

const DATE = new Date(0);
const ISO = '"1970-01-01T00:00:00.000Z"';
const PAGE = new URL("https://a.example/b");
const gives = (json) => ({ hidden: 1, toJSON: () => json });

let client;
let count = 0;
/** The result of a tool that returns this value; a function makes it anew. */
async function result(value, options = {}) {
  const name = `result_${count++}`;
  const declared = tool({ name, handler: () => (typeof value === "function" ? value() : value), ...options });
  const found = await client.call(name);
  declared.remove();
  return found;
}
before(async () => {
  client = await connect();
});

class List extends Array {
  toJSON() {
    return { length: this.length };
  }
}

class Closed {
  #size = 1;
  get size() {
    return this.#size;
  }
}
class Open extends Closed {
  count = 2;
}
class Empty {
  name;
  method() {}
}

/** A value, its JSON, and its structured content. */
const VALUES = [
  [DATE, ISO],
  [new Date(NaN), "null"],
  [PAGE, '"https://a.example/b"'],
  [new String("x"), '"x"'],
  [new Number(5), "5"],
  [new Boolean(false), "false"],
  [gives("said"), '"said"'],
  [gives([1, 2]), "[1,2]"],
  [gives(null), "null"],
  [gives(undefined), "null"],
  [gives(7), "7"],
  [gives({ a: 1 }), '{"a":1}', { a: 1 }],
  [gives(new Map([["a", 1]])), '{"a":1}', { a: 1 }],
  [List.from([1, 2]), '{"length":2}', { length: 2 }],
  [new Map([["a", DATE]]), `{"a":${ISO}}`, { a: JSON.parse(ISO) }],
  [new Map([[1, new Set([2n])]]), '{"1":[2]}', { 1: [2] }],
  [new Set(["a", "b"]), '["a","b"]'],
  [/a+/gi, '"/a+/gi"'],
  [{ d: DATE, of: [new Set([1]), /b/] }, `{"d":${ISO},"of":[[1],"/b/"]}`, { d: JSON.parse(ISO), of: [[1], "/b/"] }],
  [{ e: Object.assign(new Error("no disk"), { code: "EIO" }) }, '{"e":"no disk"}', { e: "no disk" }],
  [{}, "{}", {}],
  [{ none: undefined }, "{}", {}],
  [Object.create(null), "{}", {}],
  [new Open(), '{"count":2}', { count: 2 }],
  [new Empty(), "{}", {}],
];

test("a value is the text of its JSON, and structured content if that is an object", async () => {
  for (const [value, json, structured] of VALUES) {
    for (const one of [value, async () => value]) {
      const found = await result(one);
      assert.deepEqual([found.text, found.structured, found.isError], [json, structured, false], json);
    }
  }
});

test("the parts of a result are their JSON, too", async () => {
  const parts = async (value) => {
    const { content, structured, isError } = await result(value);
    return [content.map(({ text }) => text), structured, isError];
  };
  for (const [value, json, structured] of VALUES) {
    assert.deepEqual(await parts(() => new ToolResult({ content: value })), [[json], structured, false], json);
    assert.deepEqual(await parts(() => new ToolResult({ structured: value })), [[json], structured, false], json);
    const shown = structured ? ["c"] : ["c", json];
    for (const both of [
      new ToolResult({ content: "c", structuredContent: value }),
      { content: [text("c")], structuredContent: value },
    ])
      assert.deepEqual(await parts(both), [shown, structured, false], json);
    const failed = new ToolResult({ isError: true, message: "c", structured: value });
    assert.deepEqual(await parts(failed), [shown, structured, true], json);
  }
  assert.deepEqual(await parts(() => new ToolResult({ content: "c", structured: [1] })), [["c", "[1]"], undefined, false]);
});

test("an error that is returned is one that was thrown", async () => {
  const error = new ToolError("no user 7", { code: "NOT_FOUND" });
  for (const options of [{}, { output: { type: "object" } }]) {
    const found = await result(error, options);
    assert.deepEqual([found.isError, found.text, found.error.code], [true, "no user 7", "NOT_FOUND"]);
  }
  assert.deepEqual((await result(() => Promise.resolve(new RangeError("far")))).text, "RangeError: far");
  const said = await result(() => new ToolResult({ isError: true, content: new Error("no disk") }));
  assert.deepEqual([said.isError, said.text], [true, "no disk"]);
});

test("an object that has no form in JSON is named", async () => {
  const cases = [
    [{ later: Promise.resolve(1) }, "it holds an object of the type Promise"],
    [() => new Map([[{}, 1]]), "the keys of a Map are not text"],
    [() => new Map([[1, "a"], ["1", "b"]]), "the keys of a Map are not text"],
    [new ArrayBuffer(8), "it holds an object of the type ArrayBuffer"],
    [[new URLSearchParams("a=1")], "it holds an object of the type URLSearchParams"],
    [new DataView(new ArrayBuffer(8)), "it holds an object of the type DataView"],
    [{ of: [Math] }, "it holds an object of the type Math"],
    [JSON, "it holds an object of the type JSON"],
    [new Closed(), "it holds an object of the type Closed"],
    [{ of: new (class Inner extends Closed {})() }, "it holds an object of the type Inner"],
    [
      function* () {
        yield 1;
      },
      "it holds an object of the type Generator",
    ],
  ];
  for (const [value, reason] of cases) {
    const { isError, text, error } = await result(value);
    assert.deepEqual([isError, text, error.code], [true, `the result has no form in JSON: ${reason}`, "INVALID_RESULT"]);
  }
  const circle = {};
  circle.self = circle;
  assert.match((await result(circle)).text, /^the result has no form in JSON: .*circular/);
});

test("JSON Schema as `output` is about the JSON of a value", async () => {
  const dated = { type: "object", properties: { d: { type: "string" } }, required: ["d"], additionalProperties: false };
  const cases = [
    [DATE, { type: "string" }, { result: JSON.parse(ISO) }],
    [{ d: DATE }, dated, { d: JSON.parse(ISO) }],
    [gives({ d: "x" }), dated, { d: "x" }],
    [new Map([["d", PAGE]]), dated, { d: PAGE.href }],
    [new Set([1]), { type: "array", items: { type: "integer" } }, { result: [1] }],
    [{ n: 5n }, { type: "object", properties: { n: { type: "integer" } } }, { n: 5 }],
    [new ToolResult({ structured: { d: DATE } }), dated, { d: JSON.parse(ISO) }],
    [new ToolResult({ content: DATE }), { type: "string" }, { result: JSON.parse(ISO) }],
    [{ d: DATE }, z.object({ d: z.date() }), { d: JSON.parse(ISO) }],
  ];
  for (const [value, output, structured] of cases) {
    const found = await result(value, { output });
    assert.deepEqual([found.structured, found.isError], [structured, false], found.text);
  }
  const wrong = [
    [{ d: undefined }, dated, '"d" is missing (string)'],
    [gives("x"), dated, 'expected object, got "x"'],
    [{ d: gives(1) }, dated, "at /d: expected string, got 1"],
    [DATE, {}, `expected object, got ${ISO}`],
    [DATE, z.any(), `expected object, got ${ISO}`],
  ];
  for (const [value, output, complaint] of wrong) {
    const { text, error } = await result(value, { output });
    assert.deepEqual([error?.code, text.split("\n- ")[1]], ["OUTPUT_SCHEMA_MISMATCH", complaint]);
  }
});

test("groups and workflows have the same results", async () => {
  toolGroup({ name: "dates", strategy: "union", actions: { now: { handler: () => DATE } } });
  const step = (value) => ({ next: ["end"], handler: () => value });
  workflow({
    name: "kinds",
    first: "date",
    steps: { date: step(DATE), end: { handler: () => new Error("not today") } },
  });
  workflow({ name: "maps", first: "map", steps: { map: step(new Map([["a", 1n]])), end: { handler: () => 5n } } });
  await Promise.resolve();
  const group = await client.call("dates", { action: "now" });
  assert.deepEqual([group.text, group.structured], [ISO, undefined]);
  const { content, structured, meta } = await client.call("kinds_date");
  assert.deepEqual([content[0].text, structured], [ISO, undefined]);
  const { handle, next } = meta["protomcp/workflow"];
  const failed = await client.call("kinds_end", { handle });
  assert.deepEqual([failed.isError, failed.text], [true, "not today"]);
  const again = await client.call("kinds_end", { handle });
  assert.deepEqual([again.text, next], ["not today", ["kinds_end"]], "the run is where it was");
  const { structured: map } = await client.call("maps_map");
  assert.deepEqual([map.a, map.workflow.next], [1, ["maps_end"]]);
  assert.match((await client.call("maps_end", { handle: map.workflow.handle })).text, /^5\n/);
});
