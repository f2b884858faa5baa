/**
 * The frames that a session writes, joined into few writes.
 *
 * @module
 */

import { writeFrame } from "../wire/frames.js";
import { Writer } from "../wire/writer.js";

/** @import { Kind, Like, Messages, RawHeader, Rest } from "../wire/message-types.js" */

const NOTHING = {};

/**
 * With more bytes that the bridge has not read, progress and log messages are left out. It is less than the limit at which no
 * further requests are read (run.js): a call that reports without an end can be cancelled.
 */
const MOST_REPORTS = 32 << 20;

/** Frames that were sent in one turn of the event loop are written together. */
export class Output {
  #writer = new Writer();
  #scheduled = false;
  #write;
  #waiting;
  #hasTold = false;

  /**
   * @param {(bytes: Buffer) => void} write
   * @param {() => number} [waiting] the bytes that were written and not read yet
   */
  constructor(write, waiting = () => 0) {
    this.#write = write;
    this.#waiting = waiting;
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
   * Sends progress or a log message, unless the bridge reads too slowly.
   *
   * @param {"progress" | "log"} kind
   * @param {any} message
   * @param {Like<Rest>} [rest]
   */
  report(kind, message, rest) {
    if (this.#writer.at + this.#waiting() <= MOST_REPORTS) return this.send(kind, message, rest);
    if (this.#hasTold) return;
    this.#hasTold = true;
    const text = `progress and log messages are left out while pmcp has not read ${MOST_REPORTS >> 20} MiB`;
    console.error(text);
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
