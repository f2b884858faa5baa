// State that survives a reload.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { handOver, tool } from "protomcp";
import { connect } from "protomcp/testing";

import { registry } from "../src/registry.js";

let items = [];
let ends;
let begins;
const begun = new Promise((resolve) => (begins = resolve));
tool({ name: "put", input: { type: "object" }, handler: ({ item }) => String(items.push(item)) });
tool({
  name: "work",
  handler: async () => {
    await new Promise((resolve) => {
      ends = resolve;
      begins();
    });
    items.push("ended");
  },
});

beforeEach(() => {
  items = [];
  registry.handover = undefined;
});

test("the state goes from one process to the next", async () => {
  handOver(
    async () => ({ items }),
    (before) => {
      if (!Array.isArray(before.items)) throw new Error("the items are not a list");
      ({ items } = before);
    },
  );
  const old = await connect();
  assert.equal((await old.call("put", { item: "tea" })).text, "1");
  const state = await old.handOver();
  assert.deepEqual(state, { items: ["tea"] });
  assert.equal((await old.call("put", { item: "cake" })).text, "2", "it serves on");
  await old.close();
  const next = await connect();
  await next.takeOver(state);
  assert.equal((await next.call("put", { item: "jam" })).text, "2");
  await assert.rejects(next.takeOver({}), /the items are not a list/);
  assert.equal((await next.call("put", { item: "bun" })).text, "3", "it serves without the state");
  await next.close();
});

test("a cancelled call ends before the state is read", async () => {
  handOver(
    () => items,
    () => {},
  );
  const client = await connect();
  const controller = new AbortController();
  const call = client.call("work", {}, { signal: controller.signal });
  await begun;
  controller.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
  const state = client.handOver();
  ends();
  assert.deepEqual(await state, ["ended"]);
  await client.close();
});

test("a state that cannot be handed over has a reason", async () => {
  const client = await connect();
  assert.equal(await client.handOver(), undefined);
  await assert.rejects(client.takeOver(1), /no function takes the state over/);
  for (const [give, reason] of [
    [() => undefined, /has no form in JSON/],
    [() => ({ of: Math }), /the state has no form in JSON: it holds an object of the type Math/],
    [() => Promise.reject(new Error("the disk is full")), /the disk is full/],
    // A text in JSON has two quotes.
    [() => "x".repeat((1 << 20) - 1), /the state has 1048577 bytes, more than the limit of 1048576/],
  ]) {
    registry.handover = undefined;
    handOver(give, () => {});
    await assert.rejects(client.handOver(), reason);
  }
  registry.handover = undefined;
  handOver(() => "x".repeat((1 << 20) - 2), () => {});
  assert.equal((await client.handOver()).length, (1 << 20) - 2);
  assert.throws(() => handOver(() => 1, () => {}), /two states/);
  await client.close();
});
