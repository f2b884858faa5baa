// Workflows that limit the tools next to them.
import assert from "node:assert/strict";
import { test } from "node:test";

import { tool, ToolResult, workflow } from "protomcp";
import { connect } from "protomcp/testing";

test("a workflow limits other tools for the client of a session", async () => {
  const answer = new ToolResult({ content: "reviewed", disable: ["own"] });
  for (const name of ["status", "wipe", "a.b", "aXb"]) tool({ name, handler: () => name });
  tool({ name: "secret", hidden: true, handler: () => "42" });
  workflow({
    name: "deploy",
    first: "review",
    allowDuring: ["stat*", "a.b"],
    steps: { review: { next: ["approve"], handler: () => answer }, approve: { handler: () => "approved" } },
  });
  const client = await connect();
  for (const [context, limited] of [
    [{ session: "a" }, ["aXb", "wipe"]],
    [undefined, []],
  ]) {
    for (const end of ["approve", "cancel"]) {
      const begun = await client.call("deploy_review", {}, { context });
      const { handle } = begun.meta["protomcp/workflow"];
      assert.deepEqual([begun.enabled, begun.disabled.toSorted()], [[], ["own", ...limited].toSorted()]);
      const ended = await client.call(`deploy_${end}`, { handle }, { context });
      assert.deepEqual([ended.isError, ended.enabled.toSorted(), ended.disabled], [false, limited.toSorted(), []]);
    }
  }
  assert.deepEqual(answer.disable, ["own"]);
  await client.close();
});

test("a run that was cancelled during a step does not come back", async () => {
  let go;
  tool({ name: "other", handler: () => "x" });
  workflow({
    name: "busy",
    first: "begin",
    allowDuring: [],
    steps: {
      begin: { next: ["wait"], handler: () => "begun" },
      wait: { next: ["end"], handler: () => new Promise((resolve) => (go = resolve)) },
      end: { handler: () => "ended" },
    },
  });
  const client = await connect();
  const context = { session: "b" };
  const { handle } = (await client.call("busy_begin", {}, { context })).meta["protomcp/workflow"];
  const waiting = client.call("busy_wait", { handle }, { context });
  await client.ping();
  assert.ok((await client.call("busy_cancel", { handle }, { context })).enabled.includes("other"));
  go("late");
  const late = await waiting;
  assert.deepEqual([late.text, late.enabled, late.disabled], ["late\nthe run was cancelled", [], []]);
  assert.deepEqual(late.meta["protomcp/workflow"], { handle, next: [] });
  assert.equal((await client.call("busy_end", { handle }, { context })).error.code, "NOT_FOUND");
  await client.close();
});

test("of two calls of a step at the same time one runs", async () => {
  let ran = 0;
  const ship = () => new Promise((resolve) => setImmediate(resolve, `shipped ${++ran}`));
  workflow({ name: "once", first: "begin", steps: { begin: { next: ["ship"], handler: () => "begun" }, ship: { handler: ship } } });
  const client = await connect();
  const begin = async () => (await client.call("once_begin")).meta["protomcp/workflow"].handle;
  let handle = await begin();
  const results = await Promise.all([client.call("once_ship", { handle }), client.call("once_ship", { handle })]);
  assert.deepEqual(results.map(({ error }) => error?.code), [undefined, "OUT_OF_ORDER"]);
  assert.deepEqual([results[1].error.retryable, ran], [true, 1]);

  // A step whose arguments are still checked does not begin in a run that was cancelled.
  handle = await begin();
  const [step, cancelled] = await Promise.all([client.call("once_ship", { handle }), client.call("once_cancel", { handle })]);
  assert.deepEqual([step.error.code, cancelled.text, ran], ["NOT_FOUND", "cancelled", 1]);
  await client.close();
});

test("a run goes on if `onCancel` fails, and is cancelled again", async () => {
  let ends;
  const onCancel = () => new Promise((...both) => (ends = both));
  const steps = { begin: { next: ["end"], handler: () => "begun" }, end: { handler: () => "ended" } };
  workflow({ name: "stuck", first: "begin", allowDuring: [], onCancel, steps });
  const client = await connect();
  const context = { session: "c" };
  const { disabled, meta } = await client.call("stuck_begin", {}, { context });
  const { handle } = meta["protomcp/workflow"];
  const cancel = async (end) => {
    const cancelled = client.call("stuck_cancel", { handle }, { context });
    await client.ping();
    // While it works, other calls find no run.
    assert.equal((await client.call("stuck_end", { handle }, { context })).error.code, "NOT_FOUND");
    end();
    return cancelled;
  };
  const failed = await cancel(() => ends[1](new Error("locked")));
  assert.deepEqual([failed.text, failed.enabled], ["locked", []]);
  assert.deepEqual((await cancel(() => ends[0]())).enabled, disabled);
  assert.equal((await client.call("stuck_cancel", { handle }, { context })).error.code, "NOT_FOUND");
  await client.close();
});

test("a step that ends before `onCancel` fails runs once", async () => {
  let go;
  let fail;
  const handler = () => new Promise((resolve) => (go = resolve));
  const onCancel = () => new Promise((_resolve, reject) => (fail = reject));
  const steps = { begin: { next: ["ship"], handler: () => "begun" }, ship: { next: ["end"], handler }, end: { handler } };
  workflow({ name: "torn", first: "begin", allowDuring: [], onCancel, steps });
  const client = await connect();
  const call = (name, args) => client.call(`torn_${name}`, args, { context: { session: "h" } });
  const { disabled, meta } = await call("begin");
  const { handle } = meta["protomcp/workflow"];
  const whileCancelled = async (step) => {
    const running = call(step, { handle });
    await client.ping();
    const cancelled = call("cancel", { handle });
    await client.ping();
    go("done");
    await client.ping();
    fail(new Error("locked"));
    assert.equal((await cancelled).text, "locked");
    return running;
  };
  const shipped = await whileCancelled("ship");
  assert.deepEqual(shipped.meta["protomcp/workflow"], { handle, next: ["torn_end"] });
  assert.equal((await call("ship", { handle })).error.code, "OUT_OF_ORDER");
  const ended = await whileCancelled("end");
  assert.deepEqual([ended.text, ended.enabled], ["done\nthe workflow is complete", disabled]);
  assert.equal((await call("cancel", { handle })).error.code, "NOT_FOUND");
  await client.close();
});

test("the tools that a run has hidden are shown after its time", async (t) => {
  let now = 0;
  t.mock.method(Date, "now", () => now);
  let go;
  const end = { handler: () => new Promise((resolve) => (go = resolve)) };
  workflow({
    name: "brief",
    first: "begin",
    allowDuring: [],
    ttlMs: 1000,
    steps: { begin: { next: ["end"], handler: () => "begun" }, end },
  });
  const client = await connect();
  const call = (name, args, session = "d") => client.call(`brief_${name}`, args, { context: { session } });
  for (const next of ["end", "cancel"]) {
    const { disabled, meta } = await call("begin");
    assert.ok(disabled.includes("other"));
    const { handle } = meta["protomcp/workflow"];
    now += 1000;
    assert.deepEqual((await call(next, { handle }, "e")).enabled, []);
    const late = await call(next, { handle });
    assert.deepEqual([late.error.code, late.error.suggestion], ["NOT_FOUND", "begin a new one with brief_begin"]);
    assert.match(late.text, /^there is no run/);
    assert.deepEqual(late.enabled, disabled);
    assert.deepEqual((await call(next, { handle })).enabled, []);
  }

  // A run whose step takes longer has not ended.
  const { disabled, meta } = await call("begin");
  const { handle } = meta["protomcp/workflow"];
  const slow = call("end", { handle });
  await client.ping();
  now += 1000;
  assert.deepEqual((await call("cancel", { handle })).enabled, disabled);
  go("late");
  assert.deepEqual([(await slow).text, (await slow).enabled], ["late\nthe run was cancelled", []]);
  await client.close();
});

test("the tools that a run has hidden are shown if it is evicted", async () => {
  const steps = { begin: { next: ["end"], handler: () => "begun" }, end: { handler: () => "ended" } };
  workflow({ name: "many", first: "begin", allowDuring: [], steps });
  const client = await connect();
  const call = (name, args, session) => client.call(`many_${name}`, args, { context: { session } });
  const { disabled, meta } = await call("begin", {}, "f");
  const { handle } = (await call("begin", {}, "g")).meta["protomcp/workflow"];
  const second = (await call("begin", {}, "g")).meta["protomcp/workflow"];
  for (let run = 3; run < 10_002; run++) await call("begin", {}, "");
  assert.deepEqual((await call("cancel", { handle: meta["protomcp/workflow"].handle }, "f")).enabled, disabled);
  // Another run of the session hides them still, and shows them at its end.
  const late = await call("end", { handle }, "g");
  assert.deepEqual([late.error.code, late.enabled], ["NOT_FOUND", []]);
  assert.deepEqual((await call("end", { handle: second.handle }, "g")).enabled, disabled);
  await client.close();
});

test("a step whose result has no form in JSON has failed", async () => {
  let handle;
  let value = { later: Promise.resolve() };
  const answer = (_args, { run }) => ((handle = run.handle), value);
  workflow({ name: "odd", first: "begin", steps: { begin: { next: ["end"], handler: answer }, end: { handler: answer } } });
  const client = await connect();
  assert.equal((await client.call("odd_begin")).error.code, "INVALID_RESULT");
  // A first step that has failed leaves no run.
  assert.equal((await client.call("odd_cancel", { handle })).error.code, "NOT_FOUND");
  value = "begun";
  await client.call("odd_begin");
  value = { later: Promise.resolve() };
  assert.equal((await client.call("odd_end", { handle })).error.code, "INVALID_RESULT");
  value = "ended";
  assert.equal((await client.call("odd_end", { handle })).text, "ended\nthe workflow is complete");
  await client.close();
});
