// Any bytes are frames or refused, and the same frames however they are cut.
import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { FrameReader, LIMITS, writeFrame } from "../src/wire/frames.js";
import { KINDS, readEnvelope } from "../src/wire/messages.js";
import { Malformed, Reader, TooManyEntries } from "../src/wire/reader.js";
import { Writer } from "../src/wire/writer.js";

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
