/**
 * Frames (docs/envelope.md, "Frames"): bytes in pieces become envelopes, with limits that are checked first.
 *
 * @module
 */

import { Buffer } from "node:buffer";

import { readEnvelope, writeEnvelope } from "./messages.js";
import { Malformed, Reader, TooManyEntries } from "./reader.js";
import { Scan, scan } from "./scan.js";

/** @import { Envelope, Kind, Like, Messages, RawHeader, Rest } from "./message-types.js" */
/** @import { Writer } from "./writer.js" */

const MIB = 1 << 20;

/**
 * The limits of the document, in bytes; `maxEntries` counts all lists in one envelope.
 *
 * @typedef {{ maxFrame: number, maxPayload: number, maxSkip: number, maxEntries: number }} Limits
 */

/** @type {Limits} */
export const LIMITS = { maxFrame: 64 * MIB, maxPayload: 256 * MIB, maxSkip: 4096 * MIB, maxEntries: 16384 };

/**
 * A frame that was skipped.
 *
 * @typedef {object} Refused
 * @property {"malformed" | "too_many_entries" | "too_large"} reason
 * @property {string} requestId empty if it cannot be read
 * @property {Kind | ""} kind empty if it cannot be read
 * @property {number} size in bytes
 * @property {"envelope" | "payload"} unit
 */

/**
 * The receiver of frames.
 *
 * @typedef {object} Receiver
 * @property {(envelope: Envelope) => void} envelope
 * @property {(header: RawHeader, payload: Buffer) => void} raw
 * @property {(refused: Refused) => void} refused
 */

/** Splits a stream. */
export class FrameReader {
  /** True if the start of the next frame is unknown: the stream cannot be read any further. */
  lost = false;
  /** @type {Buffer[]} */
  #parts = [];
  #size = 0;
  #need = 4;
  /** @type {RawHeader | undefined} */
  #header;
  #frame = -1;
  #skip = 0;
  /** @type {Refused | undefined} */
  #refused;
  #scan = new Scan();
  #receiver;
  #limits;

  /**
   * @param {Receiver} receiver
   * @param {Limits} [limits]
   */
  constructor(receiver, limits = LIMITS) {
    this.#receiver = receiver;
    this.#limits = limits;
  }

  /** True if the stream ends in the middle of a frame when it ends here. */
  get isInside() {
    return this.#size > 0 || this.#frame >= 0 || this.#header !== undefined || this.#skip > 0;
  }

  /**
   * Takes the next bytes, and passes on the frames that they complete.
   *
   * @param {Buffer} piece
   */
  feed(piece) {
    let bytes = piece,
      at = 0;
    if (this.#size > 0) {
      this.#parts.push(piece);
      this.#size += piece.length;
      if (this.#size < this.#need) return;
      bytes = Buffer.concat(this.#parts);
      this.#parts = [];
      this.#size = 0;
    }
    while (!this.lost) {
      if (this.#skip > 0) {
        if (at === bytes.length) return;
        at = this.#skipOn(bytes, at);
      } else if (bytes.length - at < this.#need) {
        break;
      } else {
        const start = at;
        at += this.#need;
        this.#take(bytes, start, at);
      }
    }
    if (at < bytes.length) {
      this.#parts.push(bytes.subarray(at));
      this.#size = bytes.length - at;
    }
  }

  /**
   * Takes the bytes that were needed.
   *
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   */
  #take(bytes, start, end) {
    if (this.#header) {
      const header = this.#header;
      this.#header = undefined;
      this.#need = 4;
      this.#receiver.raw(header, bytes.subarray(start, end));
    } else if (this.#frame >= 0) {
      this.#frame = -1;
      this.#need = 4;
      this.#envelope(bytes, start, end);
    } else {
      const size = bytes.readUInt32BE(start);
      if (size > this.#limits.maxFrame) this.#beginSkip(size, "envelope", "");
      else if (size > 0) this.#need = this.#frame = size;
    }
  }

  /**
   * @param {Buffer} bytes
   * @param {number} start
   * @param {number} end
   */
  #envelope(bytes, start, end) {
    let envelope;
    try {
      // A view, so that a value beyond the end is not read.
      envelope = readEnvelope(
        new Reader(end === bytes.length ? bytes : bytes.subarray(0, end), start, this.#limits.maxEntries),
        end,
      );
    } catch (error) {
      if (error instanceof Malformed) return this.#refuse("malformed", bytes.subarray(start, end));
      if (error instanceof TooManyEntries) return this.#refuse("too_many_entries", bytes.subarray(start, end));
      throw error;
    }
    if (envelope.kind !== "rawHeader") return this.#receiver.envelope(envelope);
    const header = envelope.message;
    header.requestId ||= envelope.requestId;
    if (header.size > this.#limits.maxPayload) return this.#beginSkip(header.size, "payload", header.requestId);
    this.#header = header;
    this.#need = Number(header.size);
  }

  /**
   * @param {"malformed" | "too_many_entries"} reason
   * @param {Buffer} bytes
   */
  #refuse(reason, bytes) {
    const { requestId, kind } = scan(bytes);
    if (kind === "rawHeader") this.lost = true;
    else this.#receiver.refused({ reason, requestId, kind, size: bytes.length, unit: "envelope" });
  }

  /**
   * @param {number | bigint} size
   * @param {"envelope" | "payload"} unit
   * @param {string} requestId
   */
  #beginSkip(size, unit, requestId) {
    if (size > this.#limits.maxSkip) {
      this.lost = true;
      return;
    }
    this.#skip = Number(size);
    this.#scan = new Scan();
    this.#refused = { reason: "too_large", requestId, kind: "", size: this.#skip, unit };
  }

  /**
   * @param {Buffer} bytes
   * @param {number} at
   */
  #skipOn(bytes, at) {
    const end = Math.min(bytes.length, at + this.#skip);
    const refused = /** @type {Refused} */ (this.#refused);
    if (refused.unit === "envelope") this.#scan.feed(bytes.subarray(at, end));
    this.#skip -= end - at;
    if (this.#skip > 0) return end;
    const { requestId, kind } = this.#scan;
    if (kind === "rawHeader") this.lost = true;
    else this.#receiver.refused({ ...refused, kind, requestId: refused.requestId || requestId });
    return end;
  }
}

/**
 * Writes a frame.
 *
 * @template {Kind} K
 * @param {Writer} writer
 * @param {K | ""} kind
 * @param {Like<Messages[K]>} message
 * @param {Like<Rest>} rest
 */
export function writeFrame(writer, kind, message, rest) {
  const start = writer.openFrame();
  writeEnvelope(writer, kind, message, rest);
  writer.closeFrame(start);
}
