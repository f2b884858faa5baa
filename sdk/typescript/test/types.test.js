// The types of the package: built as they are published, and used as authors use them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { promisify } from "node:util";

import { filesOf } from "./readme.js";

const run = promisify(execFile);
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const root = fileURLToPath(new URL("..", import.meta.url));

async function compile(project) {
  const { stdout } = await run(process.execPath, [tsc, "-p", project], { cwd: root }).catch((error) => error);
  assert.equal(stdout, "", project);
}

test("the sources, the types of authors, the examples and the README compile", async (t) => {
  const folder = mkdtempSync(join(root, "test/types/.readme-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const { name, code } of filesOf(readFileSync(join(root, "README.md"), "utf8")))
    writeFileSync(join(folder, name), code);
  await compile("tsconfig.json");
  await Promise.all([compile("test/types/tsconfig.own.json"), compile("test/types/tsconfig.json")]);
});
