// The types of the package: built as they are published, and used as authors use them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { promisify } from "node:util";

import { filesOf } from "./readme.js";

const run = promisify(execFile);
// The newest, and in the long tier the one before it, which takes six times as long.
const isLong = process.env.PMCP_LONG === "1";
const compilers = ["typescript", ...(isLong ? ["typescript-5"] : [])];
const root = fileURLToPath(new URL("..", import.meta.url));

async function compile(compiler, project, ...options) {
  const tsc = join(root, "node_modules", compiler, "bin/tsc");
  const { stdout } = await run(process.execPath, [tsc, "-p", project, ...options], { cwd: root }).catch((error) => error);
  assert.equal(stdout, "", `${compiler} ${project} ${options}`);
}

// The next test but one compiles the same sources, with the types of the oldest Node.
const long = { skip: isLong ? false : "it belongs to the long tier (PMCP_LONG=1)" };
test("the sources compile with the types of the newest Node", long, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "protomcp-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  // Here `node` is the newest one also for the packages that it uses.
  mkdirSync(join(folder, "node_modules/@types"), { recursive: true });
  symlinkSync(join(root, "node_modules/@types/node-newest"), join(folder, "node_modules/@types/node"));
  symlinkSync(join(root, "src"), join(folder, "src"));
  for (const name of ["package.json", "tsconfig.json"]) copyFileSync(join(root, name), join(folder, name));
  for (const compiler of compilers) await compile(compiler, folder, "--preserveSymlinks");
});

test("`npm install` brings what the scripts and the tests need", () => {
  const read = (path) => JSON.parse(readFileSync(join(root, path), "utf8"));
  const { dependencies } = read("../../conformance/peers/sdk-typescript/package.json");
  assert.deepEqual(read("package.json").devDependencies, dependencies);
});

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
