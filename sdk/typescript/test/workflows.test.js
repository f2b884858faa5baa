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
