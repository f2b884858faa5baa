// The package is built from the tree, and installs without a network into an empty folder.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const resolve = createRequire(import.meta.url).resolve;
const PMCP = process.env.PMCP_BIN ?? here("../../../target/debug/pmcp");

test("the package serves the first example of the README, and has its types", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "protomcp-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const npm = (...args) => run("npm", [...args, "--offline", "--cache", join(folder, "cache")], { cwd: folder });

  const built = await run(here("../../../scripts/package"), ["--to", folder, "npm"]);
  // The example needs zod, which comes from a folder.
  const zod = dirname(resolve("zod/package.json"));
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  await npm("install", "--no-audit", "--no-fund", built.stdout.trim(), zod);

  const readme = readFileSync(here("../README.md"), "utf8");
  writeFileSync(join(folder, "tools.mjs"), /^```js\n([^]*?)^```$/m.exec(readme)[1]);
  const { stdout } = await run(PMCP, ["call", "tools.mjs", "add", "a=1", "b=2"], { cwd: folder });
  assert.equal(stdout, "3\n");

  const options = ["--strict", "--checkJs", "--allowJs", "--noEmit", "--target", "es2022", "--module", "nodenext"];
  const compiler = [here("../node_modules/typescript/bin/tsc"), ...options, "--skipLibCheck", "tools.mjs"];
  const types = await run(process.execPath, compiler, { cwd: folder }).catch((error) => error);
  assert.equal(types.stdout, "");
});
