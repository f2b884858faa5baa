/**
 * The frames that a session writes, joined into few writes.
 *
 * @module
 */

import { writeFrame } from "../wire/frames.js";
import { Writer } from "../wire/writer.js";

/** @import { Kind, Like, Messages, RawHeader, Rest } from "../wire/message-types.js" */

const NOTHING = {};

/** Frames that were sent in one turn of the event loop are written together. */
export class Output {
  #writer = new Writer();
  #scheduled = false;
  #write;

  /** @param {(bytes: Buffer) => void} write */
  constructor(write) {
    this.#write = write;
  }

  /**
   * @template {Kind} K
   * @param {K} kind
   * @param {Like<Messages[K]>} message
   * @param {Like<Rest>} [rest]
   */
  send(kind, message, rest = NOTHING) {
    const start = this.#writer.at;
    try {
      writeFrame(this.#writer, kind, message, rest);
    } catch (error) {
      // Half a frame would make the rest of the stream unreadable.
      this.#writer.at = start;
      throw error;
    }
    if (this.#scheduled) return;
    this.#scheduled = true;
    // After all handlers that can go on now: their answers share one write.
    process.nextTick(() => this.flush());
  }

  /**
   * A payload without a copy, behind its header.
   *
   * @param {Like<RawHeader>} header
   * @param {Buffer} payload
   */
  raw(header, payload) {
    this.send("rawHeader", { ...header, size: payload.length });
    this.flush();
    this.#write(payload);
  }

  /** Writes what has been sent. */
  flush() {
    this.#scheduled = false;
    if (this.#writer.at > 0) this.#write(this.#writer.take());
  }
}
