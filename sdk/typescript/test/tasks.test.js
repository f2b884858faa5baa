// Tasks, and how long their results are kept.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Tasks } from "../src/session/tasks.js";

const call = (id) => ({ id, _cancel: () => {} });

test("the result of a task is given once", () => {
  const tasks = new Tasks();
  for (const id of ["a", "b", "c"]) tasks.begin(call(id));
  tasks.end("a", { resultJson: '"done"' });
  tasks.end("b", { resultJson: '"no"' }, "broken");
  assert.deepEqual([tasks.take("a"), tasks.take("a")], [{ resultJson: '"done"' }, undefined]);
  assert.equal(tasks.status("a").message, "there is no such task");
  for (const id of ["b", "c"]) assert.equal(tasks.take(id), undefined);
  assert.deepEqual([tasks.status("b").message, tasks.status("c").state], ["broken", "running"]);
});

test("results that are not fetched are dropped when tasks end", (t) => {
  let now = 0;
  t.mock.method(Date, "now", () => now);
  const tasks = new Tasks();
  for (const id of ["a", "b", "c"]) tasks.begin(call(id));
  tasks.end("a", { resultJson: "1" });
  assert.equal(tasks.cancel("b").state, "cancelled");
  assert.equal(tasks.status("a").state, "completed");
  now += 600_000;
  tasks.end("c", { resultJson: "3" });
  assert.deepEqual(["a", "b", "c"].map((id) => tasks.status(id).state), ["failed", "failed", "completed"]);
  assert.deepEqual(tasks.take("c"), { resultJson: "3" });
});

test("of too many tasks those that ended first are dropped", () => {
  const tasks = new Tasks();
  for (const id of ["third", "second", "first"]) tasks.begin(call(id));
  tasks.end("first", { resultJson: "1" });
  tasks.end("second", { resultJson: "2" });
  tasks.cancel("third");
  for (let other = 3; other < 10_000; other++) tasks.begin(call(`running ${other}`));
  const states = () => ["first", "second", "third"].map((id) => tasks.status(id).state);
  // There are as many as there may be: the end of one of them drops no result.
  tasks.end("running 3", { resultJson: "3" });
  assert.deepEqual(states(), ["completed", "completed", "cancelled"]);
  tasks.begin(call("one more"));
  assert.deepEqual(states(), ["failed", "completed", "cancelled"]);
  tasks.begin(call("and one more"));
  assert.deepEqual(states(), ["failed", "failed", "cancelled"]);
});
