// Folders of skills.
import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { skills } from "protomcp";
import { connect } from "protomcp/testing";

import { registry } from "../src/registry.js";
import { Output } from "../src/session/output.js";
import { Session } from "../src/session/session.js";
import { FrameReader } from "../src/wire/frames.js";

beforeEach(() => {
  registry.skills = { folders: [], isAnnounced: false };
});

/** The folders that a process announces. */
async function announced() {
  const info = await new Promise((resolve) => {
    const reader = new FrameReader({
      envelope: ({ kind, message }) => {
        if (kind === "sdkInfo") resolve(message);
      },
    });
    const session = new Session(registry, new Output((bytes) => reader.feed(bytes)));
    session.begin();
    session.end();
  });
  return info.skillFolders;
}

/** The lines on standard error about skills while a client of a bridge with these features is connected. */
async function notes(options) {
  const error = mock.method(console, "error", () => {});
  const client = await connect(options);
  await client.close();
  const lines = error.mock.calls.map(({ arguments: [line] }) => line).filter((line) => /skills/.test(line));
  error.mock.restore();
  return lines;
}

test("each folder is announced once", async () => {
  assert.deepEqual(await announced(), []);
  registry.skills.isAnnounced = false;
  for (const folder of ["skills", "../more", "skills"]) skills(folder);
  assert.deepEqual(await announced(), ["skills", "../more"]);
  assert.deepEqual(await notes({}), []);
});

test("a path that names no folder is an error", () => {
  for (const [path, text] of [
    [undefined, /as a text, not undefined/],
    [null, /as a text, not null/],
    [["skills"], /as a text, not object/],
    ["", /it is empty/],
    ["a\0b", /a NUL/],
    ["é".repeat(2049), /has 4098 bytes, more than the limit of 4096/],
  ])
    assert.throws(() => skills(path), text);
  skills("x".repeat(4096));
});

test("the number of folders is bounded", () => {
  for (let number = 0; number < 64; number++) skills(`skills${number}`);
  skills("skills0");
  assert.throws(() => skills("one more"), /more than 64 folders of skills/);
});

test("folders are final when the process has started", async () => {
  skills("skills");
  await announced();
  skills("skills");
  assert.throws(() => skills("late"), /after the start of the process/);
});

test("an older bridge is noted in one line", async () => {
  skills("skills");
  const lines = await notes({ features: ["elicitation"] });
  assert.equal(lines.length, 1);
  assert.match(lines[0], /does not serve the skills of a tool file/);
});
