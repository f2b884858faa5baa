// The vectors of conformance/vectors: every envelope and every stream of frames.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { FrameReader, LIMITS, writeFrame } from "../src/wire/frames.js";
import { readEnvelope } from "../src/wire/messages.js";
import { Malformed, Reader } from "../src/wire/reader.js";
import { scan } from "../src/wire/scan.js";
import { Writer } from "../src/wire/writer.js";
import { envelopeFromJson, envelopeToJson, rawToJson, snake } from "./json.js";

const load = (name) =>
  JSON.parse(readFileSync(new URL(`../../../conformance/vectors/${name}.json`, import.meta.url), "utf8")).vectors;

const decode = (bytes) => readEnvelope(new Reader(bytes, 0, LIMITS.maxEntries), bytes.length);

function encode({ kind, message, ...ids }) {
  const writer = new Writer();
  writeFrame(writer, kind, message, ids);
  const frame = writer.take();
  assert.equal(frame.readUInt32BE(0), frame.length - 4);
  return frame.subarray(4);
}

const named = (kind) => (kind ? snake(kind) : "empty");

for (const vector of load("envelopes")) {
  test(`envelope: ${vector.name}`, () => {
    const bytes = Buffer.from(vector.bytes, "hex");
    if (vector.malformed) {
      assert.throws(() => decode(bytes), Malformed);
      const { requestId, kind } = scan(bytes);
      assert.deepEqual({ request_id: requestId, message: named(kind) }, vector.malformed);
      return;
    }
    assert.deepEqual(envelopeToJson(decode(bytes)), vector.envelope);
    if (!vector.read_only) assert.equal(encode(envelopeFromJson(vector.envelope)).toString("hex"), vector.bytes);
  });
}

function read(bytes, size, limits) {
  const frames = [];
  const reader = new FrameReader(
    {
      envelope: (envelope) => frames.push({ envelope: envelopeToJson(envelope) }),
      raw: (header, payload) => frames.push({ raw: rawToJson(header), payload: payload.toString("base64") }),
      refused: ({ reason, requestId, kind, size, unit }) => {
        const about = { request_id: requestId, message: named(kind) };
        frames.push({ [reason]: reason === "too_large" ? { size: String(size), unit, ...about } : about });
      },
    },
    limits,
  );
  for (let at = 0; at < bytes.length; at += size) reader.feed(bytes.subarray(at, at + size));
  return { frames, end: reader.lost ? "lost" : reader.isInside ? "inside" : "between" };
}

for (const vector of load("conversations")) {
  test(`conversation: ${vector.name}`, () => {
    for (const { from, bytes, ...frame } of vector.steps) {
      const { frames, end } = read(Buffer.from(bytes, "hex"), 11, LIMITS);
      assert.deepEqual([frames, end], [[frame], "between"]);
      if (!frame.envelope) continue;
      assert.equal(encode(envelopeFromJson(frame.envelope)).toString("hex"), bytes.slice(8));
    }
  });
}

for (const vector of load("frames")) {
  test(`frames: ${vector.name}`, () => {
    const bytes = Buffer.from(vector.bytes, "hex");
    const given = vector.limits ?? {};
    const limits = {
      maxFrame: given.max_frame ?? LIMITS.maxFrame,
      maxPayload: given.max_payload ?? LIMITS.maxPayload,
      maxSkip: given.max_skip ?? LIMITS.maxSkip,
      maxEntries: given.max_entries ?? LIMITS.maxEntries,
    };
    for (const size of [bytes.length || 1, 1, 7]) {
      assert.deepEqual(read(bytes, size, limits), { frames: vector.frames, end: vector.end }, `in pieces of ${size}`);
    }
  });
}
