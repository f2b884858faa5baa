// Tools: schemas, results, errors, and the context of a call.
import assert from "node:assert/strict";
import { before, test } from "node:test";

import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { audio, embedded, file, image, link, text, tool, ToolError, toolGroup, ToolResult, use, withJsonSchema, workflow } from "protomcp";
import { connect } from "protomcp/testing";
import * as v from "valibot";
import { z } from "zod";
import * as mini from "zod/mini";

import { registry } from "../src/registry.js";
import { complaints } from "../src/schema/check.js";
import { toolDefinitions } from "../src/session/definitions.js";

const PNG = Buffer.from("89504e470d0a1a0a", "hex");
let client;
before(async () => {
  client = await connect();
});

const returns = (name, handler, options) => tool({ name, handler, ...options });

returns("text", () => "plain");
returns("nothing", () => undefined);
returns("number", async () => 42);
returns("list", () => [1, "two"]);
returns("object", () => ({ a: 1, big: 2n }));
returns("blocks", () => ["look:", image(PNG)]);
returns("one_block", () => audio(PNG, "audio/ogg"));
returns("official", () => ({ content: [text("said")], structuredContent: { n: 1 }, _meta: { m: 1 } }));
returns(
  "whole",
  () => new ToolResult({ content: "c", structured: { s: 1 }, meta: { m: 2 }, enable: ["x"], disable: ["y"] }),
);
returns(
  "old_error",
  () => new ToolResult({ result: "broken", isError: true, errorCode: "PARSE", suggestion: "again", retryable: true }),
);
returns("large", () => "é".repeat(50_000));
returns("large_error", () => new ToolResult({ content: "x".repeat(100_000), isError: true }));
returns("throws", () => {
  throw new ToolError("no user 7", { code: "NOT_FOUND", suggestion: "list them", retryable: true });
});
returns("rejects", async () => Promise.reject(Object.assign(new Error("disk"), { code: "EIO" })));
returns("bytes", () => PNG);
returns("file", () => file(new URL("./tools.test.js", import.meta.url)));
returns("links", () => [link("x://a", { name: "a" }), embedded("x://b", "body", "text/plain"), embedded("x://c", PNG)]);

test("values become content and structured content", async () => {
  const cases = [
    ["text", [{ type: "text", text: "plain" }], undefined],
    ["nothing", [], undefined],
    ["number", [{ type: "text", text: "42" }], undefined],
    ["list", [{ type: "text", text: '[1,"two"]' }], undefined],
    [
      "blocks",
      [
        { type: "text", text: "look:" },
        { type: "image", data: PNG.toString("base64"), mimeType: "image/png" },
      ],
      undefined,
    ],
    ["one_block", [{ type: "audio", data: PNG.toString("base64"), mimeType: "audio/ogg" }], undefined],
    ["official", [{ type: "text", text: "said" }], { n: 1 }],
    ["whole", [{ type: "text", text: "c" }], { s: 1 }],
  ];
  for (const [name, content, structured] of cases) {
    const result = await client.call(name);
    assert.deepEqual([result.content, result.structured, result.isError], [content, structured, false], name);
  }
  const whole = await client.call("whole");
  assert.deepEqual([whole.meta, whole.enabled, whole.disabled], [{ m: 2 }, ["x"], ["y"]]);
  const { content } = await client.call("links");
  assert.deepEqual(
    content.map(({ type }) => type),
    ["resource_link", "resource", "resource"],
  );
  assert.match((await client.call("file")).content[0].resource.text, /^\/\/ Tools/);
});

test("an object is structured content with its text next to it", async () => {
  const { structured, text } = await client.call("object");
  assert.deepEqual(structured, { a: 1, big: 2 });
  assert.deepEqual(JSON.parse(text), { a: 1, big: 2 });
});

test("large results arrive whole, whatever else they have", async () => {
  assert.equal((await client.call("large")).text, "é".repeat(50_000));
  const error = await client.call("large_error");
  assert.deepEqual([error.text.length, error.isError], [100_000, true]);
});

test("errors tell the next step", async () => {
  const thrown = await client.call("throws");
  assert.deepEqual(thrown.error, { code: "NOT_FOUND", message: "no user 7", suggestion: "list them", retryable: true });
  assert.deepEqual([thrown.isError, thrown.text], [true, "no user 7"]);
  assert.equal((await client.call("rejects")).error.code, "EIO");
  assert.match((await client.call("bytes")).text, /image\(bytes\)/);
  const old = await client.call("old_error");
  assert.deepEqual([old.text, old.error.code, old.error.retryable], ["broken", "PARSE", true]);
  assert.match((await client.call("larg")).error.suggestion, /"large"/);
});

// ---------------------------------------------------------------- schemas

const echo = (args) => args;
tool({
  name: "zod",
  input: z.object({ n: z.number().int().min(1), mode: z.enum(["fast", "slow"]).default("fast") }),
  handler: echo,
});
tool({ name: "ark", input: type({ n: "number.integer > 0" }), handler: echo });
tool({ name: "valibot", input: toStandardJsonSchema(v.object({ n: v.pipe(v.number(), v.integer()) })), handler: echo });
const small = mini.object({ n: mini.number() });
tool({ name: "mini", input: withJsonSchema(small, mini.toJSONSchema(small, { io: "input" })), handler: echo });
tool({
  name: "json",
  input: {
    type: "object",
    properties: {
      n: { type: "integer", description: "how many" },
      mode: { enum: ["fast", "slow"] },
      list: { type: "array", items: { $ref: "#/$defs/word" } },
    },
    required: ["n"],
    additionalProperties: false,
    $defs: { word: { type: "string", maxLength: 3 } },
  },
  handler: echo,
});
tool({ name: "asynchronous", input: z.object({ n: z.number().refine(async (n) => n > 1, "too few") }), handler: echo });
tool({ name: "date", input: z.object({ day: z.coerce.date() }), handler: ({ day }) => day.getUTCFullYear() });
tool({
  name: "tree",
  input: z.object({ node: z.lazy(() => z.object({ value: z.number(), next: z.any().optional() })) }),
  handler: echo,
});
tool({ name: "loose", input: z.looseObject({ n: z.number() }), handler: echo });
tool({
  name: "coerced",
  input: z.object({
    n: z.coerce.number(),
    words: z.preprocess((value) => (typeof value === "string" ? value.split(",") : value), z.array(z.string())),
  }),
  handler: echo,
});
tool({ name: "no_input", handler: () => "ok" });

test("every kind of schema is listed and checked", async () => {
  for (const name of ["zod", "ark", "valibot", "mini", "json"]) {
    const { inputSchema } = client.tools.find((tool) => tool.name === name);
    assert.equal(inputSchema.type, "object", name);
    assert.match(inputSchema.properties.n.type, /integer|number/, name);
    assert.equal(inputSchema.$schema, undefined, name);
    assert.equal((await client.call(name, { n: 3 })).structured.n, 3, name);
    const wrong = await client.call(name, { n: "x" });
    assert.deepEqual([wrong.isError, wrong.error.code], [true, "INVALID_ARGUMENTS"], name);
    assert.match(wrong.text, /^invalid arguments for tool "\w+":\n- at \/n: /, name);
  }
});

test("tools of libraries check their arguments, others do not", async () => {
  const checked = toolDefinitions(registry).filter(({ checksArguments }) => checksArguments);
  assert.deepEqual(
    checked.map(({ name }) => name),
    ["zod", "ark", "valibot", "mini", "asynchronous", "date", "tree", "loose", "coerced"],
  );
  const { structured } = await client.call("coerced", { n: "5", words: "a,b" });
  assert.deepEqual(structured, { n: 5, words: ["a", "b"] });
  const { inputSchema } = client.tools.find(({ name }) => name === "coerced");
  assert.deepEqual([inputSchema.properties.n.type, inputSchema.properties.words.type], ["number", "array"]);
  const wrong = await client.call("coerced", { n: "five", words: [] });
  assert.match(wrong.text, /^invalid arguments for tool "coerced":\n- at \/n: .*, got "five"$/);
});

test("a pattern is matched unless the bridge has matched it", async () => {
  const slow = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } }, additionalProperties: false };
  const lookahead = { type: "object", properties: { a: { type: "string", pattern: "^(?!b)(.)\\1$" } } };
  const handler = () => "taken";
  const actions = { one: { input: slow, handler }, two: { input: slow, handler } };
  const mixed = { one: { input: slow, handler }, other: { input: lookahead, handler } };
  const declared = [
    tool({ name: "slow", input: slow, handler }),
    tool({ name: "lookahead", input: lookahead, handler }),
    workflow({ name: "steps", first: "slow", steps: { slow: { input: slow, handler } } }),
    toolGroup({ name: "union", strategy: "union", actions }),
    toolGroup({ name: "mixed", strategy: "union", actions: mixed }),
    tool({ name: "library", input: z.object({ a: z.string().regex(/^a+$/) }), handler }),
  ].flat();
  const long = `${"a".repeat(40)}b`;
  const refused = /^invalid arguments for .*\n- at \/a: /;
  for (const [name, args, argumentsMatch, expected] of [
    ["slow", { a: long }, true, /^taken$/],
    ["slow", { a: "b" }, false, refused],
    ["slow", { a: 1 }, true, refused],
    ["lookahead", { a: "ab" }, true, /^taken$/],
    ["lookahead", { a: "ab" }, false, refused],
    ["lookahead", { a: "aa" }, false, /^taken$/],
    ["steps_slow", { a: long }, true, /^taken/],
    ["steps_slow", { a: "b" }, false, refused],
    ["union", { action: "one", a: long }, true, /^taken$/],
    ["union", { action: "two", a: long }, true, /^taken$/],
    ["union", { action: "two", a: "b" }, false, refused],
    // The bridge has matched one of the patterns.
    ["mixed", { action: "one", a: "b" }, true, refused],
    ["mixed", { action: "other", a: "ab" }, true, refused],
    ["mixed", { action: "other", a: "aa" }, true, /^taken$/],
    ["library", { a: "b" }, true, refused],
  ]) {
    const { text } = await client.call(name, args, { argumentsMatch });
    assert.match(text, expected, `${name} ${JSON.stringify(args)} ${argumentsMatch}`);
  }
  const middleware = use((call, next) => ((call.args.a = "b"), next()));
  assert.match((await client.call("steps_slow", { a: "a" }, { argumentsMatch: true })).text, refused);
  middleware.remove();
  for (const tool of declared) tool.remove();
});

test("references are decoded as fragments of a URI", () => {
  for (const [reference, name] of [
    ["#/$defs/%C3%BC", "ü"],
    ["#/%24defs/a%7E1b", "a/b"],
    ["#/$defs/x%2520y", "x%20y"],
    ["#/$defs/%zz", "%zz"],
  ]) {
    const schema = { properties: { a: { $ref: reference } }, $defs: { [name]: { type: "string" } } };
    assert.deepEqual(complaints(schema, { a: 1 }), ["at /a: expected string, got 1"], reference);
  }
  assert.deepEqual(complaints({ properties: { a: { $ref: "#anchor" } } }, { a: 1 }), []);
});

test("a value is visited once for each choice of a recursive schema", () => {
  let visits = 0;
  const choice = (name, kids) => ({
    get type() {
      visits++;
      return "object";
    },
    properties: { kids, ...(name && { kind: { const: name } }) },
    required: ["kids"],
  });
  const list = { type: "array", items: { $ref: "#/$defs/node" } };
  const schema = (names, all) => ({
    $ref: "#/$defs/node",
    $defs: {
      list,
      node: { [all ? "allOf" : "anyOf"]: [...(all ? [] : [{ type: "boolean" }]), ...names.map((name) => choice(name, list))] },
    },
  });
  const levels = 12;
  const chain = (inner, kind) => {
    for (let level = 0; level < levels; level++) inner = { kids: [inner], kind };
    return inner;
  };
  for (const [names, value, all, complaint] of [
    [["and", "or", "not"], chain(true, "not")],
    [["and", "or", "not"], chain(1, "not"), false, /\/kids\/0: expected boolean, got 1$/],
    [["", "", ""], chain(true, "not")],
    [["", "", ""], chain(1, "not"), false, /\/kids\/0: expected boolean, got 1$/],
    [["", ""], chain({ kids: [] }), true],
    [["", ""], chain(1), true, /\/kids\/0: expected object, got 1$/],
  ]) {
    visits = 0;
    const found = complaints(schema(names, all), value);
    assert.ok(complaint ? complaint.test(found[0]) : !found.length, String(found));
    assert.ok(visits > levels && visits <= 40 * levels, `${visits} visits`);
  }
});

test("constants tell the choice that was meant", () => {
  const of = (kind, properties) => ({ type: "object", properties: { kind: { enum: [kind] }, ...properties } });
  const number = { type: "number" };
  const schema = { anyOf: [of("a", { x: number, y: number }), { $ref: "#/$defs/b" }], $defs: { b: of("b", {}) } };
  const found = complaints(schema, { kind: "a", x: "1", y: "2" });
  assert.deepEqual(found, ['at /x: expected number, got "1"', 'at /y: expected number, got "2"']);
  assert.deepEqual(complaints(schema, { kind: "b" }), []);
  assert.match(complaints(schema, { kind: "c" })[0], /^at \/kind: expected one of "a"/);
});

test("a long value is named by its size, and not written", () => {
  let read = 0;
  const long = Array.from({ length: 100_000 }, () => ({ toJSON: () => read++ }));
  assert.deepEqual(complaints({ type: "string" }, long), ["expected string, got an array of 100000 elements"]);
  assert.ok(read <= 100);
});

test("complaints are those that a model can act on", async () => {
  const complaint = async (name, args) => (await client.call(name, args)).text.split("\n").slice(1).join("\n");
  assert.equal(await complaint("json", {}), '- "n" is missing (integer: how many)');
  assert.equal(
    await complaint("json", { n: 1, mode: "fats" }),
    '- at /mode: expected one of "fast", "slow", got "fats"; did you mean "fast"?',
  );
  assert.equal(await complaint("json", { n: 1, liste: [] }), '- unknown argument "liste"; did you mean "list"?');
  assert.equal(
    await complaint("json", { n: 1.5, list: ["a", "abcd"] }),
    "- at /n: expected integer, got 1.5\n- at /list/1: expected at most 3 characters, got 4",
  );
  assert.equal(await complaint("zod", { n: 1, mod: "fast" }), '- unknown argument "mod"; did you mean "mode"?');
  assert.match(await complaint("asynchronous", { n: 1 }), /^- at \/n: too few, got 1$/);
  assert.match(await complaint("no_input", { x: 1 }), /unknown argument "x"; there are none/);
});

test("defaults and transformations reach the handler", async () => {
  assert.deepEqual((await client.call("zod", { n: 1 })).structured, { n: 1, mode: "fast" });
  assert.equal((await client.call("date", { day: "2026-03-01" })).text, "2026");
  assert.deepEqual((await client.call("loose", { n: 1, more: 2 })).structured, { n: 1, more: 2 });
  assert.equal((await client.call("tree", { node: { value: 1 } })).structured.node.value, 1);
});

tool({
  name: "typed",
  input: { type: "object", properties: { ok: { type: "boolean" } } },
  output: z.object({ n: z.number() }),
  handler: ({ ok }) => (ok ? { n: 1 } : { m: 1 }),
});
tool({ name: "wrapped", output: z.array(z.string()), handler: () => ["a"] });
tool({
  name: "json_text",
  output: { type: "object", properties: { n: { type: "number" } } },
  handler: () => new ToolResult({ result: '{"n":2}' }),
});
tool({
  name: "rich",
  output: z.object({ n: z.number() }),
  handler: () => new ToolResult({ content: [image(PNG)], structured: { n: 1 } }),
});

test("an output schema holds", async () => {
  const { outputSchema } = client.tools.find((tool) => tool.name === "wrapped");
  assert.deepEqual(outputSchema, {
    type: "object",
    properties: { result: { type: "array", items: { type: "string" } } },
    required: ["result"],
  });
  assert.deepEqual((await client.call("typed", { ok: true })).structured, { n: 1 });
  const broken = await client.call("typed", { ok: false });
  assert.deepEqual([broken.isError, broken.error.code], [true, "OUTPUT_SCHEMA_MISMATCH"]);
  const wrapped = await client.call("wrapped");
  assert.deepEqual([wrapped.structured, wrapped.text], [{ result: ["a"] }, '["a"]']);
  assert.deepEqual((await client.call("json_text")).structured, { n: 2 });
  const rich = await client.call("rich");
  assert.deepEqual([rich.structured, rich.content[0].type], [{ n: 1 }, "image"]);
});

test("a schema that cannot be said as JSON Schema names the cure", async () => {
  const declared = tool({ name: "unsayable", input: v.object({ n: v.number() }), handler: echo });
  await assert.rejects(connect(), /tool "unsayable", input: valibot cannot say .* toStandardJsonSchema/);
  declared.remove();
});

test("the members of a schema without the schema are named", async () => {
  for (const [options, about, name] of [
    [{ input: { a: z.string(), b: z.number() } }, "input", "a"],
    [{ input: { type: "object", properties: { a: { type: "string" }, b: z.number() } } }, "input", "b"],
    [{ output: { a: z.string() } }, "output", "a"],
    [{ output: { type: "object", properties: { a: type("string") } } }, "output", "a"],
  ]) {
    const declared = tool({ name: "shape", handler: echo, ...options });
    const text = `^tool "shape", ${about}: "${name}" is the schema of a member: wrap it, as in z\\.object\\(\\{ ${name}: … `;
    await assert.rejects(connect(), ({ message }) => (assert.match(message, new RegExp(text)), true));
    declared.remove();
  }
  for (const [input, place] of [
    [{ type: "object", properties: { a: { type: "array", items: z.string() } } }, "/properties/a/items"],
    [{ anyOf: [{ type: "object" }, z.object({})] }, "/anyOf/1"],
    [{ type: "object", properties: { a: { type: "object", properties: { b: type("string") } } } }, "/properties/a/properties/b"],
  ]) {
    const declared = tool({ name: "mixed", handler: echo, input });
    const text = `tool "mixed", input: ${place} is a schema of a library inside of JSON Schema: write this part as JSON Schema`;
    await assert.rejects(connect(), ({ message }) => (assert.ok(message.startsWith(text), message), true));
    declared.remove();
  }
  const asks = tool({ name: "asks_shape", handler: (_, { ask }) => ask("?", { a: z.string() }) });
  assert.match((await client.call("asks_shape")).text, /the form of a question: "a" is the schema of a member: wrap it/);
  asks.remove();
});

// ---------------------------------------------------------------- context

tool({
  name: "hints",
  title: "Hints",
  description: "d",
  readOnly: true,
  destructiveHint: false,
  icons: [{ src: "x://i" }],
  meta: { m: 1 },
  handler: echo,
});
tool({
  name: "steps",
  handler: (_, { progress, log, wantsProgress }) => {
    for (const done of [1, 2]) progress(done, 2, `step ${done}`);
    log.warning({ slow: true }, "db");
    log("info", "done");
    return wantsProgress;
  },
});
tool({
  name: "about",
  handler: (_, context) => ({ meta: context.meta, caller: context.caller, left: context.deadline - Date.now() }),
});
tool({
  name: "waits",
  handler: (_, { signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject((stopped.reason = signal.reason)))),
});
const stopped = { reason: undefined };

test("definitions carry everything", () => {
  const hints = client.tools.find(({ name }) => name === "hints");
  assert.deepEqual(hints.annotations, { readOnlyHint: true, destructiveHint: false });
  assert.deepEqual([hints.title, hints.icons, hints.meta], ["Hints", [{ src: "x://i" }], { m: 1 }]);
});

test("progress and log messages come before the result", async () => {
  const seen = [];
  const { text } = await client.call(
    "steps",
    {},
    { onProgress: ({ progress, total, message }) => seen.push([progress, total, message]) },
  );
  assert.deepEqual(
    [seen, text],
    [
      [
        [1, 2, "step 1"],
        [2, 2, "step 2"],
      ],
      "true",
    ],
  );
  assert.deepEqual(client.logs.splice(0), [
    { level: "warning", data: { slow: true }, logger: "db" },
    { level: "info", data: "done", logger: "" },
  ]);
  assert.equal((await client.call("steps")).text, "false");
});

test("a log message has the text of an error, and fails no call", async () => {
  const circle = {};
  circle.self = circle;
  const handler = (_, { log }) => {
    log.error(new RangeError("no disk"));
    log.error({ about: "a", error: new Error("no disk") });
    log.info(new Map([["a", 1]]));
    log.info(circle);
    log.info("text", { a: 1 });
    log.info({ status: 200, headers: new Headers({ a: "b" }) });
    return "said";
  };
  const declared = tool({ name: "says", handler });
  client.logs.length = 0;
  assert.equal((await client.call("says")).text, "said");
  declared.remove();
  const data = client.logs.splice(0).map(({ data }) => data);
  assert.match(data[3], /self: \[Circular/);
  data.splice(3, 1);
  const last = data.pop();
  assert.deepEqual([last.status, /Headers/.test(last.headers)], [200, true]);
  const about = { about: "a", error: "no disk" };
  assert.deepEqual(data, ["no disk", about, { a: 1 }, { message: "text", data: { a: 1 } }]);
});

test("a handler knows the caller, the deadline and the metadata", async () => {
  const context = {
    timeoutMs: 5000,
    session: "s",
    protocolVersion: "2025-11-25",
    clientName: "c",
    clientVersion: "1",
    clientCapabilitiesJson: '{"roots":{}}',
    principal: { subject: "ada", clientId: "app", issuer: "https://i", scopes: ["read"] },
  };
  const { structured } = await client.call("about", {}, { meta: { trace: "t" }, context });
  assert.deepEqual(structured.meta, { trace: "t" });
  assert.deepEqual(structured.caller, {
    session: "s",
    protocolVersion: "2025-11-25",
    client: { name: "c", version: "1" },
    capabilities: { roots: {} },
    showsApps: false,
    user: { subject: "ada", clientId: "app", issuer: "https://i", scopes: ["read"] },
  });
  assert.ok(structured.left > 0 && structured.left <= 5000);
  const clientCapabilitiesJson = '{"extensions":{"io.modelcontextprotocol/ui":{}}}';
  const shown = await client.call("about", {}, { context: { ...context, clientCapabilitiesJson } });
  assert.equal(shown.structured.caller.showsApps, true);
});

test("a cancelled call is told, and not answered", async () => {
  const controller = new AbortController();
  const call = client.call("waits", {}, { signal: controller.signal });
  await new Promise((resolve) => setImmediate(resolve));
  controller.abort();
  await assert.rejects(call, { name: "AbortError" });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(stopped.reason.name, "AbortError");
});

test("calls overlap as promises do", async () => {
  const order = [];
  const gates = new Map();
  const declared = tool({
    name: "gate",
    input: { type: "object", properties: { id: { type: "string" } } },
    handler: async ({ id }) => {
      await new Promise((resolve) => gates.set(id, resolve));
      order.push(id);
      return id;
    },
  });
  await Promise.resolve();
  const [a, b] = [client.call("gate", { id: "a" }), client.call("gate", { id: "b" })];
  while (gates.size < 2) await new Promise((resolve) => setImmediate(resolve));
  gates.get("b")();
  assert.equal((await b).text, "b");
  gates.get("a")();
  await a;
  assert.deepEqual(order, ["b", "a"]);
  declared.remove();
});
