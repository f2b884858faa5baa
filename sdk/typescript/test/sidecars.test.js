// A sidecar that ends while it is started.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { test } from "node:test";

import { sidecar } from "protomcp";

import { registry } from "../src/registry.js";

const PROGRAM = `
  require("node:http").get(process.argv[1] + process.pid);
  setInterval(() => {}, 1000);
`;

test("a start that has failed does not stop the next program", async (t) => {
  t.mock.method(console, "error", () => {});
  const pids = [];
  let isAsked = false;
  let answer;
  const answered = new Promise((resolve) => (answer = resolve));
  // The health of the programs, which tell it their numbers.
  const server = createServer(async (request, response) => {
    const pid = Number(request.url.slice(1));
    if (pid) pids.push(pid);
    else await ((isAsked = true), answered);
    response.end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${server.address().port}/`;
  const until = async (holds) => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  sidecar({ name: "server", command: [process.execPath, "-e", PROGRAM, url], healthCheck: url });
  const [program] = registry.sidecars;

  const first = program.ready();
  const failed = assert.rejects(first, /"server" does not run: it has ended with SIGKILL/);
  await until(() => isAsked && pids.length === 1);
  process.kill(pids[0], "SIGKILL");
  await until(() => program.ready() !== first);
  const second = program.ready();
  await until(() => pids.length === 2);
  // The answer is not of the program that the first start waits for.
  answer();
  await failed;
  await second;
  assert.ok(program.isReady && program.ready() === second && process.kill(pids[1], 0));
  await program.stop();
  assert.throws(() => process.kill(pids[1], 0), /ESRCH/);
  server.close();
});
