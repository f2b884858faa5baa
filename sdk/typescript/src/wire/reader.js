/**
 * Reads the fields of protobuf (docs/envelope.md, "Encoding of messages"). Bad bytes only ever throw {@link Malformed}
 * or {@link TooManyEntries}.
 *
 * @module
 */

import { Buffer, isUtf8 } from "node:buffer";

/** The bytes are not an envelope. */
export class Malformed extends Error {
  name = "Malformed";
}

/** The lists of an envelope have more entries than allowed. */
export class TooManyEntries extends Error {
  name = "TooManyEntries";
}

/** Strings of up to this many bytes are read in JavaScript: a call into the runtime costs more. */
const SHORT = 20;

/** A position in bytes. Each method reads one thing, and `end` is the end of the message that it belongs to. */
export class Reader {
  /** The upper half of the last varint. */
  #high = 0;
  #entries;

  /**
   * @param {Buffer} bytes
   * @param {number} at
   * @param {number} maxEntries of all lists together
   */
  constructor(bytes, at, maxEntries) {
    this.bytes = bytes;
    this.at = at;
    this.#entries = maxEntries;
  }

  /** The lower 32 bits of a varint; `#high` has the others. */
  #varint() {
    const byte = this.bytes[this.at];
    if (byte !== undefined && byte < 128) {
      this.at++;
      this.#high = 0;
      return byte;
    }
    return this.#longVarint();
  }

  #longVarint() {
    let low = 0,
      high = 0;
    for (let index = 0; index < 10; index++) {
      const byte = this.bytes[this.at++];
      if (byte === undefined) throw new Malformed("a varint is cut off");
      const bits = byte & 127;
      if (index < 4) low |= bits << (7 * index);
      else if (index === 4) ((low |= bits << 28), (high = bits >>> 4));
      else if (index < 10) high |= bits << (7 * index - 32);
      if (byte < 128) {
        this.#high = high >>> 0;
        return low >>> 0;
      }
    }
    throw new Malformed("a varint has more than 10 bytes");
  }

  /** The key of a field: its number × 8 + its wire type. */
  key() {
    const key = this.#varint();
    if (this.#high || key < 8) throw new Malformed("the number of a field is out of range");
    return key;
  }

  /**
   * The end of a value that begins with its length.
   *
   * @param {number} end
   */
  length(end) {
    const stop = this.#varint() + this.at;
    if (this.#high || stop > end) throw new Malformed("a value is longer than its message");
    return stop;
  }

  /** @param {number} end */
  text(end) {
    const from = this.at,
      stop = this.length(end),
      start = this.at;
    this.at = stop;
    if (stop - start <= SHORT) {
      let text = "",
        at = start;
      for (; at < stop; at++) {
        const byte = /** @type {number} */ (this.bytes[at]);
        if (byte > 127) break;
        text += String.fromCharCode(byte);
      }
      if (at === stop) return text;
    }
    const text = this.bytes.toString("utf8", start, stop);
    if (text.includes("\ufffd") && !isUtf8(this.bytes.subarray(start, stop))) {
      throw new Malformed(`the string at ${from} is not UTF-8`);
    }
    return text;
  }

  /**
   * JSON text. Bytes that are not UTF-8 are replaced.
   *
   * @param {number} end
   */
  json(end) {
    const stop = this.length(end),
      start = this.at;
    this.at = stop;
    return this.bytes.toString("utf8", start, stop);
  }

  /** @param {number} end */
  blob(end) {
    const stop = this.length(end),
      start = this.at;
    this.at = stop;
    return this.bytes.subarray(start, stop);
  }

  /** @param {number} _end */
  bool(_end) {
    return (this.#varint() | this.#high) !== 0;
  }

  /** @param {number} _end */
  int32(_end) {
    return this.#varint() | 0;
  }

  /** @param {number} _end */
  uint32(_end) {
    return this.#varint();
  }

  /**
   * A number if it is exact, else a bigint.
   *
   * @param {number} _end
   */
  int64(_end) {
    const low = this.#varint(),
      high = this.#high | 0;
    const exact = high * 0x1_0000_0000 + low;
    return Number.isSafeInteger(exact) ? exact : (BigInt(high) << 32n) | BigInt(low);
  }

  /**
   * A number if it is exact, else a bigint.
   *
   * @param {number} _end
   */
  uint64(_end) {
    const low = this.#varint(),
      high = this.#high;
    const exact = high * 0x1_0000_0000 + low;
    return Number.isSafeInteger(exact) ? exact : (BigInt(high) << 32n) | BigInt(low);
  }

  /** Counts an entry of a list. */
  count() {
    if (--this.#entries < 0) throw new TooManyEntries("the lists of an envelope have too many entries");
  }

  /**
   * Skips the value of an unknown field.
   *
   * @param {number} key
   * @param {number} end
   */
  skip(key, end) {
    switch (key & 7) {
      case 0:
        this.#varint();
        break;
      case 1:
        this.at += 8;
        break;
      case 2:
        this.at = this.length(end);
        break;
      case 5:
        this.at += 4;
        break;
      default:
        throw new Malformed(`unknown wire type ${key & 7}`);
    }
  }

  /**
   * Ends a message.
   *
   * @param {number} end
   */
  finish(end) {
    if (this.at !== end) throw new Malformed("a field is longer than its message");
  }
}
