// Values of functions, telemetry, sidecars, folders of tools; handlers that do the unexpected.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

import { app, completion, discover, handOver, middleware, onStart, onStop, prompt, resource } from "protomcp";
import { resourceTemplate, shared, sidecar, telemetry } from "protomcp";
import { tool, toolGroup, ToolError, ToolResult, use, workflow } from "protomcp";
import { connect } from "protomcp/testing";

const ANY = { type: "object" };
const folder = mkdtempSync(join(tmpdir(), "pmcp-"));
after(() => rmSync(folder, { recursive: true }));

// ---------------------------------------------------------------- values

const steps = [];
const user = ({ args }) => args.user ?? "guest";
const connection = async function* () {
  steps.push("open");
  try {
    yield { query: (text) => `rows of ${text}` };
    steps.push("commit");
  } catch (error) {
    steps.push(`rollback: ${error.message}`);
    throw error;
  } finally {
    steps.push("close");
  }
};
const table = async ({ get, args }) => `${(await get(connection)).query(args.table)} for ${await get(user)}`;
tool({
  name: "query",
  input: ANY,
  values: { connection, table, again: table },
  handler: ({ fails }, _, { table, again }) => {
    if (fails) throw new Error("no disk");
    return `${table}, ${table === again}`;
  },
});
tool({ name: "empty", values: { nothing: function* () {} }, handler: () => "never" });
toolGroup({
  name: "union",
  strategy: "union",
  actions: { who: { input: ANY, values: { user }, handler: (_, __, { user }) => user } },
});
workflow({
  name: "flow",
  first: "begin",
  steps: { begin: { input: ANY, values: { user }, handler: (_, { run }, { user }) => `${user} ${typeof run.handle}` } },
});
resource({ uri: "who://one", values: { user }, handler: (_, __, { user }) => user });
resourceTemplate({ uriTemplate: "who://of/{user}", values: { user }, handler: (_, __, { user }) => user });
prompt({ name: "who", values: { user }, handler: (_, __, { user }) => `I am ${user}` });

// ---------------------------------------------------------------- unexpected

const throws = (name, value) =>
  tool({
    name,
    handler: () => {
      throw value;
    },
  });
throws("throws_bare", Object.create(null));
throws("throws_undefined", undefined);
throws("throws_getter", {
  get message() {
    throw new Error("no text");
  },
});
const hostile = {
  message: Object.defineProperty(new Error("x"), "message", { get: raise }),
  stack: Object.defineProperty(new Error("x"), "stack", { get: raise }),
  name: Object.defineProperty(new Error("x"), "name", { get: raise }),
  inspect: Object.assign(new Error("x"), { [Symbol.for("nodejs.util.inspect.custom")]: raise }),
  cause: new Error("x", { cause: Object.defineProperty({}, Symbol.toStringTag, { get: raise }) }),
  tool: Object.defineProperty(new ToolError("x"), "message", { get: raise }),
  suggestion: new ToolError("x", { suggestion: /** @type {any} */ ({ toString: raise }) }),
  revoked: revokedProxy(),
  traps: new Proxy({}, { get: raise, getPrototypeOf: raise }),
};
for (const [name, value] of Object.entries(hostile)) {
  throws(`hostile_${name}`, value);
  const fails = () => {
    throw value;
  };
  resource({ uri: `hostile://${name}`, handler: fails });
  prompt({ name: `hostile_${name}`, handler: fails });
}
function raise() {
  throw new Error("no text");
}
function revokedProxy() {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
throws("throws_number", new ToolError(5, { code: 7 }));
tool({ name: "wrong_names", handler: () => new ToolResult({ content: "x", enable: [5] }) });
tool({ name: "wrong_question", handler: (_, { ask }) => ask("?", { type: "object", properties: {} }, { key: 5 }) });
tool({ name: "wrong_log", handler: (_, { log }) => (log.info({ n: 1n }), log.info(globalThis), "logged") });
tool({ name: "wrong_progress", handler: (_, { progress }) => (progress(Infinity, NaN, 5), "reported") });
tool({ name: "big_meta", handler: () => new ToolResult({ content: "x", meta: { n: 1n } }) });
tool({
  name: "two_questions",
  handler: async (_, { ask }) => {
    const form = { type: "object", properties: {} };
    const [wrong, right] = await Promise.allSettled([ask("a", form), ask("b", form, { key: {} })].reverse());
    return `${wrong.status} ${right.value.action}`;
  },
});
tool({ name: "agrees", handler: async (_, { ask }) => String((await ask("Go on?")).accepted) });
prompt({ name: "wrong", handler: () => ({ description: 5, messages: "x" }) });
resource({ uri: "wrong://text", handler: () => ({ text: 5 }) });
tool({
  name: "waits",
  handler: (_, { signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve("too late"))),
});

// ---------------------------------------------------------------- telemetry, sidecars, folders

const events = [];
telemetry((event) => events.push(event));
let failures = 0;
telemetry(() => {
  failures++;
  throw new Error("this function is broken");
});
telemetry(async () => {
  throw new Error("and so is this one");
});
tool({
  name: "watched",
  input: ANY,
  handler: ({ fails }, { progress }) => {
    progress(1, 2, "half");
    if (fails) throw new ToolError("it failed");
    return new ToolResult({ content: "done" });
  },
});

writeFileSync(join(folder, "b.mjs"), 'export const words = globalThis.tool({ handler: () => "b" }); globalThis.order.push("b");');
writeFileSync(join(folder, "a.mjs"), 'globalThis.tool({ name: "letters", handler: () => "a" }); globalThis.order.push("a");');
writeFileSync(join(folder, "_shared.mjs"), 'globalThis.order.push("shared");');
writeFileSync(join(folder, "types.d.mts"), "this is never read");
globalThis.tool = tool;
globalThis.order = [];

let client;
before(async () => {
  discover(pathToFileURL(`${folder}/`));
  client = await connect({ ask: () => ({ action: "accept", content: {} }) });
});
after(() => client.close());

test("values are made once for each call, and closed after it", async () => {
  assert.equal((await client.call("query", { table: "tea", user: "ann" })).text, "rows of tea for ann, true");
  assert.deepEqual(steps.splice(0), ["open", "commit", "close"]);
  assert.equal((await client.call("query", { fails: true })).text, "no disk");
  assert.deepEqual(steps.splice(0), ["open", "rollback: no disk", "close"]);
  assert.match((await client.call("empty")).text, /the provider nothing has yielded nothing/);
  assert.throws(
    () => tool({ name: "wrong", values: { nothing: 5 }, handler: () => "never" }),
    /tool "wrong": the value "nothing" is not provided by a function/,
  );
});

test("values reach every kind of handler", async () => {
  assert.equal((await client.call("union", { action: "who", user: "ben" })).text, "ben");
  assert.match((await client.call("flow_begin", { user: "eve" })).text, /^eve string/);
  assert.equal((await client.read("who://one"))[0].text, "guest");
  assert.equal((await client.read("who://of/dan"))[0].text, "dan");
  assert.equal((await client.prompt("who", { user: "fay" })).messages[0].content.text, "I am fay");
});

test("whatever a handler throws or returns, the call is answered", async () => {
  const cases = [
    ["throws_bare", /without a text/],
    ["throws_undefined", /undefined/],
    ["throws_getter", /without a text/],
    ["throws_number", /^5$/],
    ["wrong_names", /a text was expected, not a value of type number/],
    ["wrong_question", /a text was expected/],
  ];
  for (const [name, message] of cases) {
    const result = await client.call(name);
    assert.match(result.text, message, name);
    assert.equal(result.isError, true, name);
  }
  assert.equal((await client.call("wrong_log")).text, "logged");
  assert.equal((await client.call("wrong_progress", {}, { onProgress() {} })).text, "reported");
  assert.deepEqual((await client.call("big_meta")).meta, { n: 1 });
  assert.equal((await client.call("two_questions")).text, "rejected accept");
  assert.equal((await client.call("agrees")).text, "true");
  await assert.rejects(client.prompt("wrong"), /a text was expected/);
  await assert.rejects(client.read("wrong://text"), /a text was expected/);
});

test("no error of a handler ends the process", async () => {
  for (const name of Object.keys(hostile)) {
    assert.equal((await client.call(`hostile_${name}`)).isError, true, name);
    await assert.rejects(client.read(`hostile://${name}`), name);
    await assert.rejects(client.prompt(`hostile_${name}`), name);
  }
});

test("a cancelled call is answered when its handler ends", async () => {
  const controller = new AbortController();
  const call = client.call("waits", {}, { signal: controller.signal });
  await client.ping();
  controller.abort();
  await assert.rejects(call);
  for (let left = 1000; left > 0 && client.late === 0; left--) await client.ping();
  assert.equal(client.late, 1);
});

test("telemetry sees the steps of a call", async () => {
  events.length = 0;
  await client.call("watched", { a: 1 });
  await client.call("watched", { fails: true });
  await client.call("union", { action: "who" });
  assert.deepEqual(
    events.map(({ tool, phase, action }) => [tool, phase, action]),
    [
      ["watched", "start", undefined],
      ["watched", "progress", undefined],
      ["watched", "success", undefined],
      ["watched", "start", undefined],
      ["watched", "progress", undefined],
      ["watched", "error", undefined],
      ["union", "start", "who"],
      ["union", "success", "who"],
    ],
  );
  const [start, progress, success] = events;
  assert.deepEqual([start.args, progress.progress, success.result.content], [{ a: 1 }, { done: 1, total: 2, message: "half" }, "done"]);
  assert.equal(events[5].error.message, "it failed");
  assert.ok(success.duration >= 0 && failures > 8);
});

test("the tools of a folder are loaded in the order of their names", async () => {
  assert.deepEqual(globalThis.order, ["a", "b"]);
  assert.deepEqual([(await client.call("letters")).text, (await client.call("words")).text], ["a", "b"]);
  await assert.rejects(discover(join(folder, "missing")), /the folder of tools cannot be read: ENOENT/);
});

/** A separate registry, so that a failing sidecar does not concern other calls. */
async function alone(declare) {
  const { Registry, registry } = await import("../src/registry.js");
  const own = new Registry();
  const kept = { ...registry };
  Object.assign(registry, own);
  try {
    declare();
    Object.assign(own, registry);
  } finally {
    Object.assign(registry, kept);
  }
  return own;
}

const SERVER = `
  const net = require("node:http");
  process.on("SIGTERM", () => process.exit(0));
  setTimeout(() => net.createServer((_, answer) => answer.end("pid " + process.pid)).listen(+process.argv[1], "127.0.0.1"), 50);
`;

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

for (const startOn of ["first_tool_call", "server_start"]) {
  test(`a sidecar runs from ${startOn} to the end`, async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    const registry = await alone(() => {
      sidecar({ name: "server", command: [process.execPath, "-e", SERVER, String(port)], healthCheck: url, startOn });
      tool({ name: "ask", handler: async () => (await fetch(url)).text() });
    });
    const client = await connect({ registry });
    if (startOn === "first_tool_call") await assert.rejects(fetch(url));
    else assert.equal((await fetch(url)).status, 200);
    const answers = await Promise.all([client.call("ask"), client.call("ask")]);
    assert.match(answers[0].text, /^pid \d+$/);
    assert.equal(answers[0].text, answers[1].text, "both calls wait for one program");

    // One that has ended is started again.
    process.kill(Number(answers[0].text.slice(4)), "SIGKILL");
    while (registry.sidecars[0].isReady) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.notEqual((await client.call("ask")).text, answers[0].text);
    await client.close();
    await assert.rejects(fetch(url));
  });
}

test("a sidecar that does not answer fails the calls", async () => {
  const port = await freePort();
  const about = { healthCheck: `http://127.0.0.1:${port}/`, healthTimeout: 100 };
  const cases = [
    [{ command: ["/no/such/program"] }, /"server" does not run: spawn \/no\/such\/program ENOENT/],
    [{ command: [process.execPath, "-e", "process.exit(3)"], ...about, healthTimeout: 30_000 }, /it has ended with status 3/],
    [{ command: [process.execPath, "-e", "setInterval(() => {}, 1000)"], ...about }, /has not answered http:.* within 100 ms/],
  ];
  for (const [options, message] of cases) {
    const registry = await alone(() => {
      sidecar({ name: "server", ...options });
      tool({ name: "ask", handler: () => "never" });
    });
    const client = await connect({ registry });
    for (let round = 0; round < 2; round++) {
      const { error } = await client.call("ask");
      assert.deepEqual([error.code, error.retryable], ["SIDECAR", true]);
      assert.match(error.message, message);
    }
    await client.close();
  }
  assert.throws(() => sidecar({ name: "x", command: [] }), /has no command/);
});

test("a start that fails stops what has started", async () => {
  const order = [];
  const registry = await alone(() => {
    onStart(() => order.push("start"));
    onStop(() => order.push("stop"));
    onStart(() => {
      throw new Error("no database");
    });
    onStop(() => order.push("never"));
  });
  await assert.rejects(connect({ registry }), /no database/);
  assert.deepEqual(order, ["start", "stop"]);
});

test("code around a handler sees its values made for each attempt", async () => {
  const made = [];
  const registry = await alone(() => {
    use(async (_, next) => {
      await next();
      return next();
    });
    tool({ name: "twice", values: { n: () => made.push("made") }, handler: (_, __, { n }) => `attempt ${n}` });
  });
  const client = await connect({ registry });
  assert.equal((await client.call("twice")).text, "attempt 2");
  await client.close();
});

test("options that are not known are named, with the one that is meant", () => {
  const handler = () => "";
  const cases = [
    [() => tool("x", handler), /tool takes one object: tool\(\{ name, handler \}\)/],
    [() => tool({ name: "x" }), /tool "x" has no handler/],
    [() => tool({ name: "x", inputSchema: {}, handler }), /tool "x" has an unknown option "inputSchema": use input/],
    [() => tool({ desciption: "x", handler }), /a tool has an unknown option "desciption": use description/],
    [() => tool({ name: "x", colour: "red", handler }), /unknown option "colour"; there are name, title/],
    [() => prompt({ name: "x", parameters: {}, handler }), /prompt "x" has an unknown option "parameters": use input/],
    [() => resource("x://y", handler), /resource takes one object/],
    [() => resource({ uri: "x://y", mimetype: "text/plain", handler }), /resource "x:\/\/y" .*: use mimeType/],
    [() => toolGroup({ name: "g", actions: { a: { handle: handler } } }), /action "g.a" has an unknown option "handle": use handler/],
    [() => workflow({ name: "w", first: "a", steps: { a: { nxt: [], handler } } }), /step "w.a" .* "nxt": use next/],
  ];
  for (const [declare, message] of cases) assert.throws(declare, message);
});

test("nothing is dropped from what a declaration is given", async () => {
  const handler = () => "";
  const cases = [
    [() => tool({ description: "Adds.", title: "Add" }), /^a tool \(Add\) has no handler/],
    [() => tool({ name: "x", handler: "run" }), /^tool "x": the handler is not a function/],
    [() => toolGroup({ name: "g", action: {} }), /^toolGroup "g" has an unknown option "action": use actions/],
    [() => toolGroup({ name: "g" }), /^toolGroup "g" has no actions/],
    [() => toolGroup({ name: "g", strategy: "unoin", actions: {} }), /^toolGroup "g": the strategy is .*, not "unoin"/],
    [() => workflow({ name: "w", first: "a", step: {} }), /^workflow "w" has an unknown option "step": use steps/],
    [() => workflow({ name: "w", first: "a" }), /^workflow "w" has no steps/],
    [() => workflow({ name: "w", first: "a", steps: { a: { next: ["toString"], handler } } }), /has no step "toString"/],
    [() => app({ name: "a", htm: "" }), /^app "a" has an unknown option "htm": use html/],
    [() => app({ name: "a" }), /^app "a" has either html or a file/],
    [() => middleware({ name: "m", befor: handler }), /^middleware "m" has an unknown option "befor": use before/],
    [() => middleware({ name: "m" }), /^middleware "m" has neither before nor after/],
    [() => middleware({ name: "m", before: 1 }), /^middleware "m": before is not a function/],
    [() => sidecar({ name: "s", command: ["a"], healthcheck: "" }), /^sidecar "s" .*"healthcheck": use healthCheck/],
    [() => prompt({ name: "p", arguments: [{ name: "a", requierd: true }], handler }), /argument "a" .*: use required/],
    [() => completion("prompt", "p", "a", handler), /the reference is "ref\/prompt" or "ref\/resource", not "prompt"/],
    [() => completion("ref/prompt", "p", "a"), /^completion of "a" of "p": the function is missing/],
    [() => handOver(handler), /^handOver: the function that takes it is missing/],
    ...[use, telemetry, onStart, onStop, shared].map((take) => [() => take(5), /: the argument is not a function/]),
    [() => new ToolResult({ contents: "x" }), /^ToolResult has an unknown option "contents": use content/],
  ];
  for (const [declare, message] of cases) {
    assert.throws(declare, ({ message: text }) => (assert.match(text, message), true));
  }
  await assert.rejects(connect({ asks: handler }), /: connect has an unknown option "asks": use ask/);
});

test("the log shows an error without the frames of the SDK", async (t) => {
  const lines = [];
  t.mock.method(console, "error", (...parts) => lines.push(parts.map((part) => part?.stack ?? part).join(" ")));
  const registry = await alone(() => {
    tool({ name: "place", handler: () => null.x });
    tool({ name: "circle", handler: () => { const a = {}; return Object.assign(a, { a }); } });
    tool({ name: "promise", output: { type: "object", properties: { n: { type: "number" } } }, handler: () => ({ n: "x" }) });
  });
  const client = await connect({ registry });
  for (const name of ["place", "circle", "promise"]) assert.equal((await client.call(name)).isError, true);
  await client.close();
  assert.equal(lines.length, 3);
  assert.match(lines[0], /^tool "place" failed: TypeError: .*\n    at .*abilities\.test\.js:\d+:\d+\)?$/);
  assert.match(lines[1], /^tool "circle" failed: the result has no form in JSON: Converting circular structure/);
  assert.match(lines[2], /^tool "promise" failed: the result of tool "promise" does not fit .*\n- at \/n: /);
});
