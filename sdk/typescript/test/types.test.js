// The types of the package: built as they are published, and used as authors use them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { promisify } from "node:util";

import { filesOf } from "./readme.js";

const run = promisify(execFile);
// The newest, and in the long tier the one before it, which takes six times as long.
const compilers = ["typescript", ...(process.env.PMCP_LONG ? ["typescript-5"] : [])];
const root = fileURLToPath(new URL("..", import.meta.url));

async function compile(compiler, project) {
  const tsc = join(root, "node_modules", compiler, "bin/tsc");
  const { stdout } = await run(process.execPath, [tsc, "-p", project], { cwd: root }).catch((error) => error);
  assert.equal(stdout, "", `${compiler} ${project}`);
}

test("the sources, the types of authors, the examples and the README compile", async (t) => {
  const folder = mkdtempSync(join(root, "test/types/.readme-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const { name, code } of filesOf(readFileSync(join(root, "README.md"), "utf8")))
    writeFileSync(join(folder, name), code);
  for (const compiler of compilers) {
    await compile(compiler, "tsconfig.json");
    await Promise.all([compile(compiler, "test/types/tsconfig.own.json"), compile(compiler, "test/types/tsconfig.json")]);
  }
});
