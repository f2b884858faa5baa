// The messages of both wires, as a value with bounds.

import { bytesOf, readFrame } from "./envelope.js";

/** The most entries. */
const MAX_ENTRIES = 20_000;
/** The most characters of all entries together. */
const MAX_TOTAL = 64_000_000;
/** The most characters of one entry. */
const MAX_TEXT = 256_000;

/**
 * @typedef {object} Entry
 * @property {number} seq
 * @property {number} time
 * @property {"mcp" | "tool"} wire
 * @property {"client" | "server" | "bridge" | "tool"} from
 * @property {string} label
 * @property {"request" | "response" | "error" | "notification"} kind
 * @property {number} size in bytes, or characters
 * @property {string} text JSON, or a frame in base64; perhaps cut
 * @property {string} id
 */

/**
 * @typedef {object} Filter
 * @property {"" | "mcp" | "tool"} wire
 * @property {"" | Entry["kind"]} kind
 * @property {string} text in the label or the message, in any case
 */

export class Trace {
  /** @type {Entry[]} */ entries = [];
  /** @type {import("./envelope.js").Table} */ table = {};
  #seq = 0;
  #total = 0;
  /** @type {Map<string, string>} */ #methods = new Map();

  /** Adds a message of MCP. @param {"client" | "server"} from @param {string} text @param {any} message @param {number} [time] */
  mcp(from, text, message, time = Date.now()) {
    const isRequest = message.method !== undefined && message.id !== undefined;
    const key = JSON.stringify(message.id);
    let label = message.method;
    /** @type {Entry["kind"]} */ let kind = isRequest ? "request" : "notification";
    if (isRequest) this.#methods.set(`${from} ${key}`, message.method);
    if (message.method === undefined) {
      const asked = `${from === "client" ? "server" : "client"} ${key}`;
      kind = message.error ? "error" : "response";
      label = `${this.#methods.get(asked) ?? ""} ${kind}`.trim();
      this.#methods.delete(asked);
    }
    return this.#add({ time, wire: "mcp", from, label, kind, size: text.length, text, id: key ?? "" });
  }

  /** Adds a message of the tool's wire. @param {any} event */
  tool({ time, data }) {
    const { from, kind: label, id, size, frame } = data;
    const isAnswer = /(response|result|list|reply|pong|info)$/.test(label) && id !== "";
    const kind = isAnswer ? "response" : id === "" ? "notification" : "request";
    return this.#add({ time, wire: "tool", from, label, kind, size, text: frame, id });
  }

  clear() {
    this.entries = [];
    this.#total = 0;
  }

  /** The entries that pass a filter. @param {Filter} filter @returns {Entry[]} */
  filtered(filter) {
    return filter.wire || filter.kind || filter.text ? this.entries.filter((entry) => this.passes(entry, filter)) : this.entries;
  }

  /** @param {Entry} entry @param {Filter} filter */
  passes(entry, { wire, kind, text }) {
    if ((wire && entry.wire !== wire) || (kind && entry.kind !== kind)) return false;
    if (!text) return true;
    const wanted = text.toLowerCase();
    return entry.label.toLowerCase().includes(wanted) || this.message(entry).toLowerCase().includes(wanted);
  }

  /** The text of a message, as JSON. @param {Entry} entry @returns {string} */
  message(entry) {
    return entry.wire === "mcp" ? entry.text : JSON.stringify(this.value(entry));
  }

  /** The message as a value; text if it was cut. @param {Entry} entry @returns {any} */
  value(entry) {
    if (entry.wire === "tool") return readFrame(bytesOf(entry.text), this.table);
    if (entry.text.length < entry.size) return `${entry.text}… (cut)`;
    return JSON.parse(entry.text);
  }

  /** Lines of JSON. @param {Filter} filter */
  exported(filter) {
    const lines = this.filtered(filter).map(({ seq, time, wire, from, label, size, text }) => {
      const at = new Date(time).toISOString();
      return JSON.stringify({ seq, time: at, wire, from, label, size, [wire === "mcp" ? "text" : "frame"]: text });
    });
    return lines.join("\n") + "\n";
  }

  /** @param {Omit<Entry, "seq">} entry */
  #add(entry) {
    const whole = { ...entry, text: entry.text.slice(0, MAX_TEXT), seq: this.#seq };
    this.#seq += 1;
    this.#total += whole.text.length;
    // The events of the server may be older than messages of this page.
    let place = this.entries.length;
    while (place > 0 && this.entries[place - 1].time > whole.time) place -= 1;
    if (place === this.entries.length) this.entries.push(whole);
    else this.entries.splice(place, 0, whole);
    let dropped = 0;
    while (this.entries.length - dropped > MAX_ENTRIES || (this.#total > MAX_TOTAL && this.entries.length - dropped > 1)) {
      this.#total -= this.entries[dropped].text.length;
      dropped += 1;
    }
    // In blocks, because it moves all others.
    if (dropped) this.entries.splice(0, dropped);
    return whole;
  }
}
