// The committed reader and writer are those that the generator writes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { generate } from "../scripts/generate.js";

test("src/wire is what scripts/generate.js makes of proto/protomcp.proto", () => {
  const files = generate(readFileSync(new URL("../../../proto/protomcp.proto", import.meta.url), "utf8"));
  for (const [name, text] of Object.entries(files)) {
    const committed = readFileSync(new URL(`../src/wire/${name}`, import.meta.url), "utf8");
    assert.ok(committed === text, `src/wire/${name} is out of date: node scripts/generate.js`);
  }
});
