/**
 * The request id and the kind of an envelope that cannot be decoded, as far as they can be read.
 *
 * @module
 */

import { Buffer, isUtf8 } from "node:buffer";

import { KINDS } from "./messages.js";

/** @import { Kind } from "./message-types.js" */

const REQUEST_ID = 14;
/** Longer ids are not kept. */
const LONGEST_ID = 1024;
/** A key and a length. */
const LONGEST_HEAD = 20;

/** Takes the bytes of an envelope in pieces, and keeps no more of them than an id. */
export class Scan {
  requestId = "";
  /** @type {Kind | ""} */
  kind = "";
  #head = Buffer.alloc(0);
  #skip = 0;
  #id = 0;
  #over = false;

  /** @param {Buffer} bytes */
  feed(bytes) {
    let rest = bytes;
    while (!this.#over && rest.length) {
      if (this.#skip) {
        const size = Math.min(this.#skip, rest.length);
        this.#skip -= size;
        rest = rest.subarray(size);
      } else {
        rest = this.#field(rest);
      }
    }
  }

  /**
   * Reads the head of a field, and the value of an id.
   *
   * @param {Buffer} rest
   */
  #field(rest) {
    const wanted = this.#id || LONGEST_HEAD;
    const bytes = this.#head.length ? Buffer.concat([this.#head, rest.subarray(0, wanted)]) : rest;
    const known = this.#head.length;
    this.#head = Buffer.alloc(0);
    const used = this.#id ? this.#readId(bytes) : this.#readHead(bytes);
    if (used < 0) {
      // Cut off: the rest is in the next piece.
      this.#head = Buffer.from(bytes);
      return rest.subarray(bytes.length - known);
    }
    return rest.subarray(used - known);
  }

  /** @param {Buffer} bytes */
  #readId(bytes) {
    if (bytes.length < this.#id) return -1;
    const id = bytes.subarray(0, this.#id);
    if (isUtf8(id)) this.requestId = id.toString();
    this.#id = 0;
    return id.length;
  }

  /** @param {Buffer} bytes */
  #readHead(bytes) {
    const key = varint(bytes, 0);
    if (!key) return this.#cut(bytes);
    const number = Math.floor(key.value / 8);
    switch (key.value % 8) {
      case 0: {
        const value = varint(bytes, key.end);
        return value ? value.end : this.#cut(bytes);
      }
      case 1:
        this.#skip = 8;
        return key.end;
      case 2: {
        const size = varint(bytes, key.end);
        if (!size) return this.#cut(bytes);
        this.kind = KINDS[number] ?? this.kind;
        if (number === REQUEST_ID && size.value <= LONGEST_ID) {
          this.#id = size.value;
          if (!size.value) this.requestId = "";
        } else {
          this.#skip = size.value;
        }
        return size.end;
      }
      case 5:
        this.#skip = 4;
        return key.end;
      default:
        this.#over = true;
        return bytes.length;
    }
  }

  /** @param {Buffer} bytes */
  #cut(bytes) {
    if (bytes.length < LONGEST_HEAD) return -1;
    this.#over = true;
    return bytes.length;
  }
}

/**
 * The request id and the kind of an envelope.
 *
 * @param {Buffer} bytes
 */
export function scan(bytes) {
  const scan = new Scan();
  scan.feed(bytes);
  return scan;
}

/**
 * @param {Buffer} bytes
 * @param {number} start
 */
function varint(bytes, start) {
  let value = 0;
  for (let at = start; at < Math.min(bytes.length, start + 10); at++) {
    const byte = /** @type {number} */ (bytes[at]);
    value += (byte & 127) * 2 ** (7 * (at - start));
    if (byte < 128) return { value, end: at + 1 };
  }
  return undefined;
}
