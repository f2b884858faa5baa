// The types of the package: built as they are published, and used as authors use them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const root = fileURLToPath(new URL("..", import.meta.url));

async function compile(project) {
  const { stdout } = await run(process.execPath, [tsc, "-p", project], { cwd: root }).catch((error) => error);
  assert.equal(stdout, "", project);
}

test("the sources and the types of authors compile", async () => {
  await compile("tsconfig.json");
  await compile("test/types/tsconfig.own.json");
  await compile("test/types/tsconfig.json");
});
