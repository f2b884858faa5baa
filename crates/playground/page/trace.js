// The messages of both wires, as a value with bounds.

import { bytesOf, readFrame } from "./envelope.js";

/** The most entries. */
const MAX_ENTRIES = 20_000;
/** The most characters of all entries together. */
const MAX_TOTAL = 64_000_000;
/** The most characters of one entry. */
const MAX_TEXT = 256_000;
/** The bytes of a message of the tool's wire that the server keeps. */
const KEPT = 65_536;

/** The most requests without an answer whose time is measured. */
const MAX_OPEN = 5_000;

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
 * @property {boolean} isFrame
 * @property {boolean} [isCut] the text is not the whole message
 * @property {string} id
 * @property {number} session its number, from 1
 * @property {number} [took] the time until its answer, in milliseconds
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
  /** The name of the file that was read; empty for the messages of this page. */ file = "";
  #seq = 0;
  #total = 0;
  #session = 1;
  #isBegun = false;
  /** The requests without an answer. @type {Map<string, Entry>} */ #open = new Map();

  /** Adds a message of MCP. @param {"client" | "server"} from @param {string} text @param {any} message @param {number} [time] @param {number} [session] */
  mcp(from, text, message, time = Date.now(), session) {
    if (message.method === "initialize" && from === "client") {
      if (this.#isBegun) this.#session += 1;
      this.#isBegun = true;
    }
    const key = JSON.stringify(message.id);
    const facts = { time, wire: /** @type {const} */ ("mcp"), from, size: text.length, text, isFrame: false, id: key ?? "", session: session ?? this.#session };
    if (message.method !== undefined) {
      const kind = message.id !== undefined ? "request" : "notification";
      return this.#asked(this.#add({ ...facts, label: message.method, kind }));
    }
    const kind = message.error ? "error" : "response";
    return this.#answered({ ...facts, label: kind, kind }, from === "client" ? "server" : "client");
  }

  /** Adds a message of the tool's wire: a frame, or the text of a message of MCP. @param {any} event */
  tool({ time, data }) {
    const { from, kind: label, id, size, frame, text, isWhole = false } = data;
    const facts = { time, wire: /** @type {const} */ ("tool"), from, size, text: frame ?? text, isFrame: frame !== undefined, isCut: size > KEPT && !isWhole, id, session: 1 };
    if (frame === undefined) {
      if (label !== "result" && label !== "error") return this.#asked(this.#add({ ...facts, label, kind: id === "" ? "notification" : "request" }));
      const kind = label === "error" ? "error" : "response";
      return this.#answered({ ...facts, label: kind, kind }, from === "bridge" ? "tool" : "bridge");
    }
    const isAnswer = /(response|result|list|reply|pong|info)$/.test(label) && id !== "";
    if (isAnswer) return this.#answered({ ...facts, label, kind: "response" }, from === "bridge" ? "tool" : "bridge");
    return this.#asked(this.#add({ ...facts, label, kind: id === "" ? "notification" : "request" }));
  }

  /** Adds an envelope of a file. @param {"bridge" | "tool"} from @param {any} message @param {number} time */
  envelope(from, message, time) {
    const text = JSON.stringify(message);
    if (message.jsonrpc === "2.0") {
      const kind = message.method ?? (message.error ? "error" : "result");
      return this.tool({ time, data: { from, kind, id: message.id === undefined ? "" : JSON.stringify(message.id), size: text.length, text, isWhole: true } });
    }
    const id = message.request_id ?? "";
    const label = Object.keys(message).find((name) => name !== "request_id" && typeof message[name] === "object") ?? "message";
    const isAnswer = /(response|result|list|reply|pong|info)$/.test(label) && id !== "";
    const facts = { time, wire: /** @type {const} */ ("tool"), from, label, size: text.length, text, isFrame: false, id, session: 1 };
    if (isAnswer) return this.#answered({ ...facts, kind: "response" }, from === "bridge" ? "tool" : "bridge");
    return this.#asked(this.#add({ ...facts, kind: id === "" ? "notification" : "request" }));
  }

  /** Remembers a request until its answer. @param {Entry} entry */
  #asked(entry) {
    if (entry.kind !== "request") return entry;
    this.#open.set(`${entry.from} ${entry.session} ${entry.id}`, entry);
    // Those without an answer.
    if (this.#open.size > MAX_OPEN) this.#open.delete(/** @type {string} */ (this.#open.keys().next().value));
    return entry;
  }

  /** Adds an answer, and tells its request how long it took. @param {Omit<Entry, "seq">} facts @param {string} asker */
  #answered(facts, asker) {
    const key = `${asker} ${facts.session} ${facts.id}`;
    const request = this.#open.get(key);
    this.#open.delete(key);
    if (request) request.took = Math.max(0, facts.time - request.time);
    const isNamed = facts.label === facts.kind;
    return this.#add({ ...facts, label: isNamed && request ? `${request.label} ${facts.kind}` : facts.label });
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
    return entry.isFrame ? JSON.stringify(this.value(entry)) : entry.text;
  }

  /** The message as a value; text if it was cut. @param {Entry} entry @returns {any} */
  value(entry) {
    if (entry.isFrame) return readFrame(bytesOf(entry.text), this.table);
    if (entry.isCut) return `${entry.text}… (cut)`;
    return JSON.parse(entry.text);
  }

  /** @param {Omit<Entry, "seq">} entry */
  #add(entry) {
    const isCut = entry.isCut || entry.text.length > MAX_TEXT;
    const whole = { ...entry, isCut, text: entry.text.slice(0, MAX_TEXT), seq: this.#seq };
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
