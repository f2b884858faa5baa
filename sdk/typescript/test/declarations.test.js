// Resources, prompts, completion, groups, workflows, middleware, tasks, lists that change, apps, and hooks.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";

import {
  app,
  completion,
  log,
  logConsole,
  middleware,
  onStart,
  onStop,
  prompt,
  resource,
  resourceTemplate,
  shared,
  tool,
  toolGroup,
  ToolError,
  use,
  VERSION,
  workflow,
} from "protomcp";
import { connect } from "protomcp/testing";
import { z } from "zod";

import { toolDefinitions } from "../src/session/definitions.js";
import { intercept } from "../src/session/intercept.js";
import { matchTemplate } from "../src/session/template.js";
import { registry, Registry } from "../src/registry.js";

let client;
const turn = () => new Promise((resolve) => setImmediate(resolve));

resource({ uri: "x://text", title: "Text", mimeType: "text/plain", handler: () => "body" });
resource({ uri: "x://bytes", handler: async () => Buffer.from([1, 2]) });
resource({ uri: "x://parts", handler: () => ["a", { uri: "x://b", text: "b", meta: { m: 1 } }] });
resource({ uri: "x://meta", handler: () => ({ contents: ["a", { text: "b", meta: { part: 1 } }], meta: { m: 1 } }) });
resource({ uri: "x://none", handler: () => undefined });
resource({ uri: "x://broken", handler: () => Promise.reject(new Error("no disk")) });
resourceTemplate({
  uriTemplate: "note://{folder}/{id}",
  complete: {
    id: (typed, settled) =>
      ["one", "other"].filter((id) => id.startsWith(typed)).map((id) => `${settled.folder}-${id}`),
  },
  handler: (uri, { params }) => (params.id === "none" ? undefined : `${params.folder}: ${params.id}`),
});
prompt({ name: "text", description: "d", handler: () => "hello" });
prompt({ name: "described", handler: () => ({ description: "other", messages: ["hi"], meta: { m: 1 } }) });
prompt({
  name: "filled",
  arguments: [
    { name: "topic", required: true },
    { name: "style", description: "how" },
  ],
  handler: ({ topic }) => [
    { role: "assistant", content: { type: "text", text: topic } },
    { role: "user", content: "go on" },
  ],
});
prompt({
  name: "typed",
  input: z.object({ style: z.enum(["brief", "detailed"]).describe("The style"), n: z.coerce.number().default(1) }),
  handler: ({ style, n }) => `${style} ${n + 1}`,
});
completion("ref/prompt", "filled", "topic", (typed) => ({
  values: ["tea", "toast"].filter((one) => one.startsWith(typed)),
  total: 9,
  hasMore: true,
  meta: { m: 2 },
}));

const stops = [];
const counter = shared(
  async () => ({ n: 0 }),
  (value) => stops.push(value.n),
);
onStart(() => void counter.value.n++);
onStop(() => stops.push("last"));
tool({ name: "counter", handler: () => counter.value.n });

before(async () => {
  client = await connect();
});

test("resources", async () => {
  assert.deepEqual(
    (await client.resources()).map(({ uri }) => uri),
    ["x://text", "x://bytes", "x://parts", "x://meta", "x://none", "x://broken", "ui://clock"],
  );
  assert.deepEqual(
    (await client.read("x://text")).map(({ text, mimeType }) => [text, mimeType]),
    [["body", "text/plain"]],
  );
  assert.deepEqual([...(await client.read("x://bytes"))[0].blob], [1, 2]);
  assert.deepEqual(
    (await client.read("x://parts")).map(({ uri, text }) => [uri, text]),
    [
      ["x://parts", "a"],
      ["x://b", "b"],
    ],
  );
  assert.deepEqual(await client.read("x://none"), []);
  await assert.rejects(client.read("x://broken"), /no disk/);
  assert.equal((await client.read("note://a/b%20c"))[0].text, "a: b c");
  assert.deepEqual(await client.read("note://a/none"), []);
  assert.deepEqual(await client.complete("ref/resource", "note://{folder}/{id}", "id", "o", { folder: "f" }), [
    "f-one",
    "f-other",
  ]);
});

test("templates of RFC 6570", () => {
  const cases = [
    ["a://{x}", "a://1", { x: "1" }],
    ["a://{x}", "a://1/2", undefined],
    ["a://{+x}", "a://1/2", { x: "1/2" }],
    ["a://{x}/b{/y}", "a://1/b/2", { x: "1", y: "2" }],
    ["a://s{?q,n}", "a://s?q=1&n=2", { q: "1", n: "2" }],
    ["a://s{?q,n}", "a://s", {}],
    ["a://{x,y}", "a://1,2", { x: "1", y: "2" }],
    ["a://x.y", "a://xzy", undefined],
    ["a://{x}{#y}", "a://1#2", { x: "1", y: "2" }],
  ];
  for (const [template, uri, params] of cases)
    assert.deepEqual(matchTemplate(template, uri), params, `${template} ${uri}`);
});

test("prompts and completion", async () => {
  const listed = Object.fromEntries((await client.prompts()).map((prompt) => [prompt.name, prompt]));
  assert.deepEqual(
    listed.typed.arguments.map(({ name, description, required }) => [name, description, required]),
    [
      ["style", "The style", true],
      ["n", "", false],
    ],
  );
  assert.deepEqual(
    listed.filled.arguments.map(({ name, required }) => [name, required]),
    [
      ["topic", true],
      ["style", false],
    ],
  );
  assert.deepEqual(await client.prompt("text"), {
    description: "d",
    messages: [{ role: "user", content: { type: "text", text: "hello" } }],
  });
  assert.deepEqual(
    (await client.prompt("filled", { topic: "tea" })).messages.map(({ role, content }) => [role, content.text]),
    [
      ["assistant", "tea"],
      ["user", "go on"],
    ],
  );
  assert.equal((await client.prompt("typed", { style: "brief", n: "2" })).messages[0].content.text, "brief 3");
  await assert.rejects(
    client.prompt("typed", { style: "long" }),
    /invalid arguments for prompt "typed":\n- at \/style/,
  );
  const { description, messages, meta } = await client.prompt("described");
  assert.deepEqual([description, messages.length, meta], ["other", 1, { m: 1 }]);
  await assert.rejects(client.prompt("texts"), /there is no prompt "texts"/);
  assert.deepEqual(await client.complete("ref/prompt", "filled", "topic", "t"), ["tea", "toast"]);
  assert.deepEqual(
    await client.complete("ref/prompt", "typed", "style", "b"),
    ["brief"],
    "an enumeration completes itself",
  );
  assert.deepEqual(await client.complete("ref/prompt", "filled", "style", "b"), []);
});

test("whole answers have a `_meta`, for a bridge that passes it on", async () => {
  const [, part] = await client.read("x://meta");
  assert.deepEqual([part.text, JSON.parse(part.metadataJson), client.replyMeta], ["b", { part: 1 }, { m: 1 }]);
  await client.read("x://parts");
  assert.equal(client.replyMeta, undefined, "the meta of a part is not the meta of the answer");
  await client.complete("ref/prompt", "filled", "topic", "t");
  assert.deepEqual(client.replyMeta, { m: 2 });
  await client.prompt("described");
  assert.deepEqual(client.replyMeta, { m: 1 });

  const other = new Registry();
  other.resources.set("x://meta", registry.resources.get("x://meta"));
  const old = await connect({ registry: other, features: [] });
  assert.equal((await old.read("x://meta"))[0].text, "a");
  assert.equal(old.replyMeta, undefined);
  await old.close();
});

test("a ping is answered while a handler runs", async () => {
  let end;
  tool({ name: "waits", handler: () => new Promise((resolve) => (end = resolve)) });
  const call = client.call("waits");
  await client.ping();
  assert.ok(end, "the handler runs");
  end("done");
  assert.equal((await call).text, "done");
});

// ---------------------------------------------------------------- groups and workflows

const actions = {
  add: { description: "Adds", input: z.object({ a: z.number(), b: z.number() }), handler: ({ a, b }) => a + b },
  negate: { description: "Negates", args: z.object({ a: z.number() }), handler: ({ a }) => -a },
};
toolGroup({ name: "math", actions });
toolGroup({ name: "maths", description: "Math", strategy: "union", actions });

test("a group is several tools, or one", async () => {
  assert.equal((await client.call("math_add", { a: 1, b: 2 })).text, "3");
  const { inputSchema } = client.tools.find(({ name }) => name === "maths");
  assert.deepEqual(
    [inputSchema.required, inputSchema.properties.action.enum, Object.keys(inputSchema.properties)],
    [["action"], ["add", "negate"], ["action", "a", "b"]],
  );
  assert.equal((await client.call("maths", { action: "negate", a: 1 })).text, "-1");
  assert.match(
    (await client.call("maths", { action: "add", a: 1 })).text,
    /invalid arguments for action "add" of tool "maths":\n- at \/b/,
  );
  assert.match((await client.call("maths", { action: "negat" })).text, /did you mean "negate"/);
});

test("actions may have different arguments of one name", async () => {
  const of = (type) => ({ type: "object", properties: { id: { type } }, required: ["id"], additionalProperties: false });
  const refers = (properties) => ({
    type: "object",
    properties: { options: { $ref: "#/$defs/Options" } },
    $defs: { Options: { type: "object", properties, additionalProperties: false } },
  });
  const handler = (args) => JSON.stringify(args);
  const declared = toolGroup({
    name: "several",
    strategy: "union",
    actions: {
      number: { input: of("integer"), handler },
      text: { input: of("string"), handler },
      name: { input: refers({ name: { type: "string" } }), handler },
      size: { input: refers({ size: { type: "integer" } }), handler },
    },
  });
  await turn();
  const { inputSchema } = client.tools.find(({ name }) => name === "several");
  assert.deepEqual(inputSchema.properties.id, { anyOf: [{ type: "integer" }, { type: "string" }] });
  const [first, second] = inputSchema.properties.options.anyOf;
  assert.deepEqual([first.$ref, second.$ref], ["#/$defs/Options", "#/$defs/Options_"]);
  assert.deepEqual(Object.keys(inputSchema.$defs.Options_.properties), ["size"]);
  for (const [args, expected] of [
    [{ action: "text", id: "abc" }, /^{"id":"abc"}$/],
    [{ action: "number", id: 1 }, /^{"id":1}$/],
    [{ action: "text", id: 1 }, /at \/id: expected string, got 1$/],
    [{ action: "name", options: { name: "a" } }, /^{"options":{"name":"a"}}$/],
    [{ action: "size", options: { size: 1 } }, /^{"options":{"size":1}}$/],
    [{ action: "size", options: { name: "a" } }, /at \/options: unknown argument "name"/],
  ]) {
    assert.match((await client.call("several", args)).text, expected);
  }
  for (const tool of declared) tool.remove();
});

test("an argument that would never arrive is refused", async () => {
  const input = (name) => ({ type: "object", properties: { [name]: { type: "string" } } });
  const handler = (args) => JSON.stringify(args);
  assert.throws(
    () => toolGroup({ name: "g", strategy: "union", actions: { a: { input: input("action"), handler } } }),
    /^TypeError: g, a: the argument "action" chooses the action: give it another name$/,
  );
  const steps = { go: { input: input("handle"), next: ["end"], handler }, end: { handler } };
  const declared = workflow({ name: "handled", first: "go", steps });
  assert.match((await client.call("handled_go", { handle: "@ann" })).text, /^{"handle":"@ann"}/);
  for (const tool of declared) tool.remove();
  assert.throws(
    () => workflow({ name: "w", first: "go", steps: { ...steps, end: { input: input("handle"), handler } } }),
    /^TypeError: w, end: the argument "handle" is the handle of the run: give it another name$/,
  );
});

const cancelled = [];
workflow({
  name: "deploy",
  first: "review",
  state: () => ({ pr: 0 }),
  steps: {
    review: {
      description: "Reviews.",
      input: z.object({ pr: z.number() }),
      next: ["approve", "reject"],
      handler: ({ pr }, { run }) => ((run.state.pr = pr), { ok: true }),
    },
    approve: { next: ["ship"], handler: (_, { run }) => `approved ${run.state.pr}` },
    reject: { handler: () => "rejected" },
    ship: { handler: (_, { run }) => Promise.reject(new ToolError(`cannot ship ${run.state.pr}`)) },
  },
  onCancel: ({ state }) => cancelled.push(state.pr),
});

test("a workflow keeps its order by handles", async () => {
  const first = await client.call("deploy_review", { pr: 7 });
  const { handle, next } = first.structured.workflow;
  assert.deepEqual(next, ["deploy_approve", "deploy_reject"]);
  assert.ok(first.text.includes(handle));
  const early = await client.call("deploy_ship", { handle });
  assert.deepEqual(
    [early.error.code, early.error.suggestion],
    ["OUT_OF_ORDER", "call deploy_approve or deploy_reject"],
  );
  assert.match((await client.call("deploy_approve", { handle })).text, /^approved 7\nhandle: .*\nnext: deploy_ship$/);
  assert.equal((await client.call("deploy_approve", { handle })).error.code, "OUT_OF_ORDER");
  assert.match((await client.call("deploy_ship", { handle })).text, /cannot ship 7/);
  assert.equal((await client.call("deploy_cancel", { handle })).text, "cancelled");
  assert.deepEqual(cancelled, [7]);
  assert.equal((await client.call("deploy_ship", { handle })).error.code, "NOT_FOUND");
  assert.match((await client.call("deploy_ship", {})).text, /"handle" is missing/);
});

test("steps and actions with schemas of a library check their arguments", async () => {
  const count = z.object({ n: z.coerce.number() });
  const plain = { type: "object", properties: { n: { type: "number" } }, additionalProperties: false };
  const step = { next: ["last"], handler: ({ n }) => String(n) };
  const last = { handler: ({ n }) => String(n) };
  const action = { handler: ({ n }) => String(n + 1) };
  const declared = [
    workflow({ name: "of_zod", first: "first", steps: { first: { input: count, ...step }, last: { input: count, ...last } } }),
    workflow({ name: "plain", first: "first", steps: { first: { input: plain, ...step }, last } }),
    toolGroup({
      name: "mixed",
      strategy: "union",
      actions: { zod: { input: count, ...action }, plain: { input: plain, ...action } },
    }),
    toolGroup({ name: "json", strategy: "union", actions: { plain: { input: plain, ...action } } }),
  ].flat();
  const names = new Set(declared.map(({ name }) => name));
  const checked = toolDefinitions(registry).filter(({ name, checksArguments }) => checksArguments && names.has(name));
  assert.deepEqual(
    checked.map(({ name }) => name),
    ["of_zod_first", "of_zod_last", "mixed"],
  );
  const { handle } = (await client.call("of_zod_first", { n: "5" })).meta["protomcp/workflow"];
  const invalid = (complaint) => new RegExp(`^invalid arguments for tool "of_zod_last":\\n- ${complaint}`);
  assert.match((await client.call("of_zod_last", { handle, n: "six" })).text, invalid("at /n: "));
  assert.match((await client.call("of_zod_last", { n: 6 })).text, invalid('"handle" is missing'));
  assert.match((await client.call("of_zod_last", { handle, n: "6" })).text, /^6/);
  assert.match((await client.call("of_zod_first", { m: 1 })).text, /unknown argument "m"; expected "n"/);
  assert.match((await client.call("plain_first", { n: "5" })).text, /expected number, got "5"/);
  assert.equal((await client.call("mixed", { action: "zod", n: "5" })).text, "6");
  assert.match((await client.call("mixed", { action: "plain", n: "5" })).text, /expected number, got "5"/);
  assert.match((await client.call("mixed", { n: "5" })).text, /"action" is missing/);
  for (const tool of declared) tool.remove();
});

// ---------------------------------------------------------------- middleware

test("local middleware wraps the handlers, the first outermost", async () => {
  const order = [];
  const outer = use(async (call, next) => (order.push(`> ${call.tool}`), await next(), "replaced"));
  const inner = use((call, next) => (order.push(call.args.a), (call.args.a = 5), next()));
  assert.equal((await client.call("math_negate", { a: 1 })).text, "replaced");
  outer.remove();
  assert.equal((await client.call("math_negate", { a: 1 })).text, "-5");
  inner.remove();
  assert.deepEqual(order, ["> math_negate", 1, 1]);
});

test("middleware of the bridge changes arguments and results, and rejects", async () => {
  middleware({
    name: "polite",
    priority: 3,
    before: ({ args }) => (args.text === "rude" ? { reject: "be polite" } : { args: { text: "please" } }),
    after: async ({ content }) => ({ content: `${content}!` }),
  });
  const ask = (phase, argumentsJson, resultJson = "") =>
    intercept(registry, { middlewareName: "polite", phase, toolName: "t", argumentsJson, resultJson, isError: false });
  assert.equal((await ask("before", "{}")).argumentsJson, '{"text":"please"}');
  assert.equal((await ask("before", '{"text":"rude"}')).rejectReason, "be polite");
  assert.equal((await ask("after", "{}", '"hi"')).resultJson, '"hi!"');
});

// ---------------------------------------------------------------- lists, tasks, apps, hooks

tool({ name: "secret", hidden: true, handler: () => 42 });
tool({ name: "reveal", handler: async (_, { tools }) => tools.enable("secret", ["nothing"]) });

test("hidden tools are shown when they are enabled", async () => {
  assert.ok(!client.shown.has("secret"));
  assert.match((await client.call("reveal")).text, /secret/);
  assert.ok(client.shown.has("secret"));
});

test("tools that are declared later reach the clients", async () => {
  const late = tool({ name: "late", handler: () => "here" });
  await turn();
  assert.ok(client.shown.has("late"));
  assert.equal((await client.call("late")).text, "here");
  late.remove();
  await turn();
  assert.ok(!client.tools.some(({ name }) => name === "late"));
  assert.equal((await client.call("late")).error.code, "NOT_FOUND");
});

tool({
  name: "job",
  task: "required",
  handler: async (_, { progress }) => (await turn(), progress(1, 2, "half"), await turn(), "done"),
});
tool({ name: "quick", task: true, handler: () => "immediately" });
tool({ name: "explicit", task: "optional", handler: async (_, { beginTask }) => (beginTask(), await turn(), "later") });
tool({
  name: "failing",
  task: "required",
  handler: async () => (await turn(), Promise.reject(new ToolError("broken"))),
});

test("calls become tasks", async () => {
  for (const [name, text] of [
    ["job", "done"],
    ["quick", "immediately"],
    ["explicit", "later"],
    ["failing", "broken"],
  ]) {
    assert.equal((await client.call(name)).text, text);
  }
  assert.deepEqual(
    client.tools.filter(({ task }) => task).map(({ name, task }) => `${name} ${task}`),
    ["job required", "quick optional", "explicit optional", "failing required"],
  );
});

const clock = app({ name: "clock", html: "<p>now</p>", csp: { connectDomains: ["https://x"] }, prefersBorder: true });
tool({ name: "time", app: clock, visibility: ["app"], handler: () => "now" });

test("a tool shows a page of MCP Apps", async () => {
  assert.deepEqual(client.tools.find(({ name }) => name === "time").meta, {
    ui: { resourceUri: "ui://clock", visibility: ["app"] },
  });
  const [page] = await client.read("ui://clock");
  assert.deepEqual([page.text, page.mimeType], ["<p>now</p>", "text/html;profile=mcp-app"]);
  assert.deepEqual(JSON.parse(page.metadataJson), {
    ui: { csp: { connectDomains: ["https://x"] }, prefersBorder: true },
  });
});

test("two declarations cannot have one name", () => {
  assert.throws(() => tool({ name: "quick", handler: () => 1 }), /two tools with the name "quick"/);
  assert.throws(
    () => completion("ref/prompt", "filled", "topic", () => []),
    /there are two completions of "topic" of "filled"/,
  );
  assert.throws(() => resource({ uri: "x://text", handler: () => 1 }), /two resources/);
  assert.throws(() => tool({ name: "x" }), /has no handler/);
});

test("the console is logged for the client of the call", async () => {
  logConsole();
  tool({ name: "talks", handler: async () => (await turn(), console.error("a %s", "warning"), "said") });
  await turn();
  client.logs.length = 0;
  await client.call("talks");
  assert.deepEqual(client.logs, [{ level: "error", data: "a warning", logger: "console" }]);
  log.info("no session of pmcp: nothing is sent");
});

test("shared values are made once and disposed of at the end", async () => {
  assert.equal((await client.call("counter")).text, "1");
  await client.close();
  assert.deepEqual(stops, ["last", 1]);
  assert.throws(() => counter.value, /made at the start/);
});

test("the version is the package's", () => {
  assert.equal(VERSION, JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version);
});
