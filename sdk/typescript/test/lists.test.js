// The order of a new list and the answer of the call that has changed it.
import assert from "node:assert/strict";
import { test } from "node:test";

import { tool } from "protomcp";

import { registry } from "../src/registry.js";
import { Output } from "../src/session/output.js";
import { Session } from "../src/session/session.js";
import { FrameReader } from "../src/wire/frames.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));
const later = () => tool({ name: "later", handler: () => "new" });
tool({ name: "plain", handler: () => later() && "added" });
tool({ name: "async", handler: async () => later() && "added" });
tool({
  name: "fails",
  handler: () => {
    later();
    throw new Error("added");
  },
});

for (const name of ["plain", "async", "fails"]) {
  test(`a tool that a call of ${name} adds is listed before the answer`, async (t) => {
    t.mock.method(console, "error", () => {});
    const kinds = [];
    const fromSession = new FrameReader({ envelope: ({ kind }) => void kinds.push(kind) });
    const session = new Session(registry, new Output((bytes) => fromSession.feed(bytes)));
    const reader = new FrameReader(session);
    const toSession = new Output((bytes) => reader.feed(bytes));
    session.begin();
    toSession.send("bridgeInfo", { name: "test", features: [] });
    toSession.send("listTools", {}, { requestId: "0" });
    await turn();
    kinds.length = 0;
    toSession.send("callTool", { name, argumentsJson: "{}" }, { requestId: "1" });
    while (!kinds.includes("callResult")) await turn();
    await turn();
    assert.deepEqual(kinds, ["toolList", "callResult"]);
    session.end();
    registry.tools.forEach((entry) => entry.name === "later" && registry.tools.delete(entry));
  });
}
