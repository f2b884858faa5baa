// The code of the README runs, and its commands print what it says. That it compiles is tested in types.test.js.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { filesOf } from "./readme.js";

const run = promisify(execFile);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const resolve = createRequire(import.meta.url).resolve;
const PMCP = process.env.PMCP_BIN ?? here("../../../target/debug/pmcp");

const folder = mkdtempSync(here("fixtures/.readme-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const readme = readFileSync(here("../README.md"), "utf8");
const blocks = [...readme.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language, code]) => ({ language, code }));
const files = filesOf(readme);
for (const { name, code } of files) writeFileSync(join(folder, name), code);

const CALLS = {
  "schemas.ts": [
    ["with_zod", { query: "x" }, "10 results for x"],
    ["with_arktype", { query: "x", limit: 2 }, "2 results for x"],
    ["with_json_schema", { query: "x" }, "newest results for x"],
  ],
  "results.ts": [
    ["weather", { city: "Ulm" }, '{"celsius":3,"wind":"none"}'],
    ["chart", {}, "The last week:"],
    ["find_user", { id: 7 }, "there is no user 7"],
  ],
  "values.ts": [["order", { item: "tea", count: 2 }, "2 tea for guest"]],
  "context.ts": [["clean_up", { folder: "tmp" }, "deleted"]],
  "visits.ts": [["visit", { name: "Ann" }, "visit 1"]],
  "notes.ts": [["write_note", { id: "three", text: "x" }, ""]],
  "deploy.ts": [
    ["db_query", { sql: "select 1" }, "ran select 1"],
    ["deploy_review", { version: "1.0" }, "1.0 changes 3 files"],
  ],
};

test("every file of the README is tried", () => {
  const tried = [...Object.keys(CALLS), "tools.js", "tools.test.js"].sort();
  assert.deepEqual(files.map(({ name }) => name).sort(), tried);
});

// Loading zod and the rest takes longer than all calls: one process makes them.
let printed;
before(async () => {
  const code = `
    import { connect } from "protomcp/testing";
    ${Object.keys(CALLS).map((name) => `import "./${name}";`).join("\n")}
    const client = await connect({ ask: () => ({ action: "accept", content: { confirm: true } }) });
    for (const [tool, args] of ${JSON.stringify(Object.values(CALLS).flat())} as any[])
      console.log(JSON.stringify([tool, (await client.call(tool, args)).text.split("\\n")[0]]));
    await client.close();
  `;
  writeFileSync(join(folder, "run.ts"), code);
  const { stdout } = await run(process.execPath, [resolve("tsx/cli"), join(folder, "run.ts")]);
  const lines = stdout.split("\n").filter((line) => line.startsWith('["'));
  printed = Object.fromEntries(lines.map((line) => JSON.parse(line)));
});

for (const [name, calls] of Object.entries(CALLS)) {
  test(`${name} runs`, () => {
    for (const [tool, , text] of calls) assert.equal(printed[tool], text, tool);
  });
}

test("the test of the README passes", async () => {
  const { stdout } = await run(process.execPath, ["--test", join(folder, "tools.test.js")], {
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  });
  assert.match(stdout, /pass 1/);
});

test("the commands print what the README says", async () => {
  const [{ code }] = blocks.filter(({ language }) => language === "console");
  const commands = code
    .split(/^\$ /m)
    .slice(1)
    .map((part) => part.split("\n"));
  assert.equal(commands.length, 2);
  for (const [command, ...output] of commands) {
    const [, ...args] = command.split(" ");
    const { stdout } = await run(PMCP, args, { cwd: folder }).catch((error) => error);
    assert.equal(stdout, output.join("\n"));
  }
});
