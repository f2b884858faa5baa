// Files that never come to serve.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

const INDEX = new URL("../src/index.js", import.meta.url);
const ENDLESS = "an `await` at the top level of the file never ends, so that its tools are not served";

for (const [what, lines, expected] of [
  ["an await that never ends", ['tool({ name: "a", handler: () => "a" });', "await new Promise(() => {});"], ENDLESS],
  ["an unnamed tool before `await run()`", ["tool({ handler: () => 1 });", "await run();"], "waits for itself"],
]) {
  test(`${what} is reported`, (t) => {
    const folder = mkdtempSync(join(tmpdir(), "protomcp-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "tools.mjs");
    writeFileSync(file, [`import { run, tool } from ${JSON.stringify(INDEX)};`, ...lines].join("\n"));
    const env = { ...process.env, PROTOMCP_SOCKET: join(folder, "socket") };
    const { status, stderr } = spawnSync(process.execPath, [file], { env, encoding: "utf8", timeout: 60_000 });
    assert.ok(status > 0, `${status}`);
    assert.ok(stderr.includes(expected), stderr);
    assert.equal(stderr.match(/never ends|waits for itself/g).length, 1, stderr);
  });
}
