/**
 * Writes the fields of protobuf (docs/envelope.md, "Encoding of messages") into one buffer that grows.
 *
 * @module
 */

import { Buffer } from "node:buffer";

/** A buffer that has grown beyond this is not used again. */
const KEEP = 1 << 20;
const FIRST = 1 << 14;

/** Bytes that are written and taken. */
export class Writer {
  bytes = Buffer.allocUnsafe(FIRST);
  at = 0;

  /**
   * Makes room for this many more bytes.
   *
   * @param {number} size
   */
  reserve(size) {
    const needed = this.at + size;
    if (needed <= this.bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(needed, this.bytes.length * 2));
    this.bytes.copy(larger, 0, 0, this.at);
    this.bytes = larger;
  }

  /** All bytes so far; the writer is empty afterwards. */
  take() {
    const { bytes, at } = this;
    this.at = 0;
    // The rest of the buffer is used for the next bytes: the runtime may still be reading these.
    const rest = bytes.subarray(at);
    this.bytes = rest.length < FIRST / 4 || bytes.length > KEEP ? Buffer.allocUnsafe(FIRST) : rest;
    return bytes.subarray(0, at);
  }

  /**
   * A varint of up to 53 bits.
   *
   * @param {number} value
   */
  varint(value) {
    this.reserve(10);
    while (value > 127) {
      this.bytes[this.at++] = (value % 128) | 128;
      value = Math.floor(value / 128);
    }
    this.bytes[this.at++] = value;
  }

  /** @param {bigint} value */
  #long(value) {
    let rest = BigInt.asUintN(64, value);
    this.reserve(10);
    for (; rest > 127n; rest >>= 7n) this.bytes[this.at++] = Number(rest & 127n) | 128;
    this.bytes[this.at++] = Number(rest);
  }

  /**
   * @param {number} key
   * @param {string} value
   */
  text(key, value) {
    if (typeof value !== "string") throw new TypeError(`a text was expected, not a value of type ${typeof value}`);
    this.varint(key);
    // UTF-8 takes at most three bytes for each unit of UTF-16. The length is guessed for ASCII.
    this.reserve(value.length * 3 + 10);
    const guess = sizeOf(value.length),
      start = this.at + guess;
    const size = this.bytes.write(value, start);
    this.#size(start, guess, size);
    this.at += size;
  }

  /**
   * @param {number} key
   * @param {string} value
   */
  json(key, value) {
    this.text(key, value);
  }

  /**
   * @param {number} key
   * @param {Uint8Array} value
   */
  blob(key, value) {
    this.varint(key);
    this.varint(value.length);
    this.reserve(value.length);
    this.bytes.set(value, this.at);
    this.at += value.length;
  }

  /**
   * @param {number} key
   * @param {boolean} value
   */
  bool(key, value) {
    this.varint(key);
    this.varint(value ? 1 : 0);
  }

  /**
   * @param {number} key
   * @param {number} value
   */
  int32(key, value) {
    this.int64(key, value | 0);
  }

  /**
   * @param {number} key
   * @param {number} value
   */
  uint32(key, value) {
    this.varint(key);
    this.varint(value >>> 0);
  }

  /**
   * Fractions are cut off.
   *
   * @param {number} key
   * @param {number | bigint} value
   */
  int64(key, value) {
    this.varint(key);
    if (typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER) this.varint(Math.trunc(value));
    else this.#long(typeof value === "bigint" ? value : BigInt(Math.trunc(value) || 0));
  }

  /**
   * @param {number} key
   * @param {number | bigint} value
   */
  uint64(key, value) {
    this.int64(key, value);
  }

  /**
   * Begins a message inside a message. `close` wants the answer.
   *
   * @param {number} key
   */
  open(key) {
    this.varint(key);
    this.reserve(1);
    return ++this.at;
  }

  /**
   * Ends a message inside a message.
   *
   * @param {number} start
   */
  close(start) {
    const size = this.at - start;
    this.at = start - 1;
    this.#size(start, 1, size);
    this.at += size;
  }

  /** Begins a frame. `closeFrame` wants the answer. */
  openFrame() {
    this.reserve(4);
    return (this.at += 4);
  }

  /**
   * Ends a frame.
   *
   * @param {number} start
   */
  closeFrame(start) {
    this.bytes.writeUInt32BE(this.at - start, start - 4);
  }

  /**
   * Writes the length of bytes at `start`, for which `guess` bytes were left free, and moves them if it takes more.
   *
   * @param {number} start
   * @param {number} guess
   * @param {number} size
   */
  #size(start, guess, size) {
    const needed = sizeOf(size);
    if (needed !== guess) {
      const at = this.at;
      this.at = start + size;
      this.reserve(needed - guess);
      this.bytes.copyWithin(start + needed - guess, start, start + size);
      this.at = at;
    }
    this.varint(size);
  }
}

/**
 * The bytes of a varint.
 *
 * @param {number} value
 */
function sizeOf(value) {
  return value < 1 << 7 ? 1 : value < 1 << 14 ? 2 : value < 1 << 21 ? 3 : value < 1 << 28 ? 4 : 5;
}
