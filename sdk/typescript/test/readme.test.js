// The code of the README compiles and runs, and its commands print what it says.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const resolve = createRequire(import.meta.url).resolve;
const PMCP = process.env.PMCP_BIN ?? here("../../../target/debug/pmcp");

const folder = mkdtempSync(here("fixtures/readme-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const readme = readFileSync(here("../README.md"), "utf8");
const blocks = [...readme.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map(([, language, code]) => ({ language, code }));
const files = blocks
  .filter(({ language }) => language === "js" || language === "ts")
  .map(({ code }) => ({ name: /^\/\/ (\S+)\n/.exec(code)[1], code }));
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
  "context.ts": [["clean_up", { folder: "tmp" }, "deleted"]],
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

test("the files compile", async () => {
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        allowJs: true,
        checkJs: true,
        noEmit: true,
        target: "es2022",
        lib: ["es2023"],
        module: "nodenext",
        types: ["node"],
        skipLibCheck: true,
      },
      include: ["*"],
    }),
  );
  for (const project of [here(".."), folder]) {
    const { stdout } = await run(process.execPath, [resolve("typescript/bin/tsc"), "-p", project]).catch(
      (error) => error,
    );
    assert.equal(stdout, "");
  }
});

for (const [name, calls] of Object.entries(CALLS)) {
  test(`${name} runs`, async () => {
    writeFileSync(
      join(folder, `run-${name}`),
      `
      import { connect } from "protomcp/testing";
      import "./${name}";
      const client = await connect({ ask: () => ({ action: "accept", content: { confirm: true } }) });
      for (const [tool, args] of ${JSON.stringify(calls)} as any[]) console.log(JSON.stringify((await client.call(tool, args)).text.split("\\n")[0]));
      await client.close();
    `,
    );
    const { stdout } = await run(process.execPath, [resolve("tsx/cli"), join(folder, `run-${name}`)]);
    assert.deepEqual(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
      calls.map(([, , text]) => text),
    );
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
