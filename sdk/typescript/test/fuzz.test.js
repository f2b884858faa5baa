// Any bytes are frames or refused, and the same frames however they are cut.
import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { FrameReader, LIMITS, writeFrame } from "../src/wire/frames.js";
import { KINDS, readEnvelope } from "../src/wire/messages.js";
import { Malformed, Reader, TooManyEntries } from "../src/wire/reader.js";
import { Writer } from "../src/wire/writer.js";
import { Registry } from "../src/registry.js";
import { Output } from "../src/session/output.js";
import { Session } from "../src/session/session.js";

const RUNS = Number(process.env.FUZZ_RUNS ?? 2000);
const SMALL = { maxFrame: 200, maxPayload: 100, maxSkip: 1000, maxEntries: 8 };

function frames(bytes, cuts) {
  const found = [];
  const reader = new FrameReader(
    {
      envelope: (envelope) => found.push(envelope),
      raw: (header, payload) => found.push({ header, payload: payload.toString("hex") }),
      refused: (refused) => found.push(refused),
    },
    SMALL,
  );
  let at = 0;
  for (const cut of [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    reader.feed(bytes.subarray(at, cut));
    at = cut;
  }
  return { found, lost: reader.lost, inside: reader.isInside };
}

/** Bytes that are likely to begin like an envelope. */
const keys = fc.constantFrom(0x0a, 0x12, 0x1a, 0x2a, 0x32, 0x72, 0x3a, 0x62, 0x08, 0x10, 0x18, 0x82, 0xf2, 0x01, 0x05);
const bytes = fc
  .array(fc.oneof(keys, fc.integer({ min: 0, max: 255 })), { maxLength: 120 })
  .map((list) => Buffer.from(list));

test("bytes are read as an envelope or refused", () => {
  fc.assert(
    fc.property(bytes, (bytes) => {
      try {
        readEnvelope(new Reader(bytes, 0, LIMITS.maxEntries), bytes.length);
      } catch (error) {
        assert.ok(error instanceof Malformed || error instanceof TooManyEntries, error);
      }
    }),
    { numRuns: RUNS },
  );
});

test("a stream has the same frames however it is cut", () => {
  const framed = bytes.map((body) => Buffer.concat([Buffer.from([0, 0, 0, body.length]), body]));
  const stream = fc.array(fc.oneof(framed, bytes), { maxLength: 6 }).map((parts) => Buffer.concat(parts));
  const cuts = fc.array(fc.nat(2000), { maxLength: 12 });
  fc.assert(
    fc.property(stream, cuts, (stream, cuts) => assert.deepEqual(frames(stream, cuts), frames(stream, []))),
    { numRuns: RUNS },
  );
});

test("an envelope that is written is read again", () => {
  const kind = fc.constantFrom("callTool", "callResult", "log", "progress");
  const text = fc.string({ unit: "binary", maxLength: 300 }).filter((text) => text.isWellFormed());
  const whole = fc.maxSafeInteger();
  const message = fc.record({
    name: text,
    argumentsJson: text,
    progressToken: text,
    metadataJson: text,
    resultJson: text,
    structuredContentJson: text,
    level: text,
    logger: text,
    dataJson: text,
    progress: whole,
    total: whole,
    message: text,
    isError: fc.boolean(),
    enableTools: fc.array(text, { maxLength: 5 }),
  });
  assert.ok(Object.values(KINDS).includes("callTool"));
  fc.assert(
    fc.property(kind, message, text, (kind, message, requestId) => {
      const writer = new Writer();
      writeFrame(writer, kind, message, { requestId });
      const bytes = writer.take();
      const envelope = readEnvelope(new Reader(bytes, 4, LIMITS.maxEntries), bytes.length);
      assert.equal(envelope.kind, kind);
      assert.equal(envelope.requestId, requestId);
      for (const [name, value] of Object.entries(envelope.message)) {
        if (name in message) assert.deepEqual(value, message[name]);
      }
    }),
    { numRuns: RUNS },
  );
});

test("no envelope ends a session", async () => {
  const registry = new Registry();
  const handler = (_, { ask }) => ask("?", { type: "object" });
  registry.tools.add({ name: "a", options: { handler, task: true }, input: undefined, output: undefined });
  registry.prompts.add({ name: "a", options: { handler: () => "a" }, input: undefined });
  registry.templates.set("{+a}", { uriTemplate: "{+a}", handler: () => "a" });
  registry.middleware.set("a", { name: "a", before: () => ({ reject: "a" }) });
  let written = 0;
  const session = new Session(registry, new Output((bytes) => (written += bytes.length)));
  const reader = new FrameReader(session);
  session.begin();

  const text = fc.constantFrom("", "a", "{}", "[1]", "{", "before", "req-1", "ask-1", '{"a":1}');
  const message = fc.record({
    name: text,
    argumentsJson: text,
    progressToken: text,
    metadataJson: text,
    requestId: text,
    taskId: text,
    uri: text,
    middlewareName: text,
    phase: text,
    toolName: text,
    resultJson: text,
    refType: text,
    refName: text,
    argumentName: text,
    argumentValue: text,
    contextJson: text,
    toolNames: fc.array(text, { maxLength: 3 }),
    action: text,
    contentJson: text,
    features: fc.array(fc.constantFrom("elicitation", "for-call"), { maxLength: 2 }),
    success: fc.boolean(),
  });
  const envelope = fc.tuple(fc.constantFrom(...Object.values(KINDS)), message, text);
  const console_error = console.error;
  console.error = () => {};
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(envelope, { maxLength: 20 }), async (envelopes) => {
        const writer = new Writer();
        for (const [kind, message, requestId] of envelopes) writeFrame(writer, kind, message, { requestId });
        reader.feed(writer.take());
        await new Promise((resolve) => setImmediate(resolve));
      }),
      { numRuns: RUNS / 10 },
    );
  } finally {
    console.error = console_error;
  }
  session.end();
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(written > 0 && !reader.lost);
});
