// A bridge that does not read, and a handler that reports without an end.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";

import { tool } from "protomcp";
import { connect } from "protomcp/testing";

import { Output } from "../src/session/output.js";

const INDEX = new URL("../src/index.js", import.meta.url);
const FILE = `
  import { tool } from ${JSON.stringify(INDEX)};
  const large = "x".repeat(1 << 20);
  const handler = async (_, { log, progress, signal }) => {
    for (let n = 1; !signal.aborted; n++) {
      log.info(large);
      progress(n);
      await new Promise(setImmediate);
      if (process.memoryUsage().rss > 1 << 30) throw process.exit(9);
    }
    console.error("cancelled");
  };
  tool({ name: "talk", handler });
`;

test("a call that reports without an end can be cancelled", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "protomcp-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "tools.mjs"), FILE);
  const path = join(folder, "socket");
  const server = createServer().listen(path);
  t.after(() => server.close());
  await once(server, "listening");
  const env = { ...process.env, PROTOMCP_SOCKET: path };
  const child = spawn(process.execPath, [join(folder, "tools.mjs")], { env, stdio: ["ignore", "ignore", "pipe"] });
  t.after(() => child.kill("SIGKILL"));
  // Nothing is read from it.
  const [socket] = await once(server, "connection");
  t.after(() => socket.destroy());
  const output = new Output((bytes) => socket.write(bytes));
  output.send("bridgeInfo", { name: "test", features: [] });
  output.send("callTool", { name: "talk", argumentsJson: "{}", progressToken: "t" }, { requestId: "1" });
  const lines = [];
  for await (const line of createInterface(child.stderr)) {
    lines.push(line);
    if (lines.length === 1) output.send("cancel", { requestId: "1" });
    else break;
  }
  const told = "progress and log messages are left out while pmcp has not read 32 MiB";
  assert.deepEqual([child.exitCode, lines], [null, [told, "cancelled"]]);
});

test("reports of one turn are bounded, and the answer is sent", async (t) => {
  const told = t.mock.method(console, "error", () => {});
  const large = "x".repeat(1 << 20);
  const handler = (_, { log }) => {
    for (let n = 0; n < 100; n++) log.info(large);
    return "said";
  };
  tool({ name: "talk", handler });
  const client = await connect();
  for (let call = 1; call < 3; call++) {
    assert.equal((await client.call("talk")).text, "said");
    assert.ok(client.logs.length >= 31 * call && client.logs.length <= 33 * call, String(client.logs.length));
  }
  assert.equal(told.mock.callCount(), 1);
  await client.close();
});
