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
