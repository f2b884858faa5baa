/**
 * Questions to the client, and the requests of tool lists: sent, matched with their answers, and failed with their
 * request.
 *
 * @module
 */

import { AskError } from "../errors.js";
import { writeFrame } from "../wire/frames.js";
import { Writer } from "../wire/writer.js";

/** @import { Envelope, Like, Messages } from "../wire/message-types.js" */
/** @import { Output } from "./output.js" */

/** @typedef {"elicitationRequest" | "samplingRequest" | "listRootsRequest"} QuestionKind */

/**
 * @typedef {object} Waiting
 * @property {string} request the id of the request that asks
 * @property {(message: any) => void} resolve
 * @property {(error: Error) => void} reject
 */

/** @typedef {{ id: string, kind: QuestionKind, message: any, key: string }} Question */

/** Questions that have no answer yet. */
export class Questions {
  #output;
  #features;
  #last = 0;
  /** @type {Map<string, Waiting>} */
  #waiting = new Map();
  /** Asked in this turn of the event loop, by request. @type {Map<string, Question[]>} */
  #together = new Map();

  /**
   * @param {Output} output
   * @param {Set<string>} features of the bridge
   */
  constructor(output, features) {
    this.#output = output;
    this.#features = features;
  }

  /**
   * Asks the client of a request. Questions that are asked in the same turn of the event loop are sent as a group.
   *
   * @template {QuestionKind} K
   * @param {string} request
   * @param {K} kind
   * @param {Like<Messages[K]>} message
   * @param {string} [key]
   * @returns {Promise<any>} the message of the answer
   */
  ask(request, kind, message, key = "") {
    const id = `ask-${++this.#last}`;
    const group = this.#together.get(request);
    if (group) group.push({ id, kind, message, key });
    else {
      this.#together.set(request, [{ id, kind, message, key }]);
      queueMicrotask(() => this.#send(request));
    }
    return new Promise((resolve, reject) => this.#waiting.set(id, { request, resolve, reject }));
  }

  /** @param {string} request */
  #send(request) {
    const group = (this.#together.get(request) ?? []).filter((question) => this.#canSend(question));
    this.#together.delete(request);
    const grouped = this.#features.has("question-group");
    group.forEach(({ id, kind, message, key }, index) => {
      this.#output.send(kind, message, {
        requestId: id,
        forCall: this.#features.has("for-call") ? request : "",
        questionKey: this.#features.has("question-key") ? key : "",
        moreQuestions: grouped && index < group.length - 1,
      });
    });
  }

  /**
   * True for a question whose request still waits, and that can be written; one that cannot fails.
   *
   * @param {Question} question
   */
  #canSend({ id, kind, message, key }) {
    const waiting = this.#waiting.get(id);
    if (!waiting) return false;
    try {
      writeFrame(new Writer(), kind, message, { questionKey: key });
      return true;
    } catch (error) {
      this.#waiting.delete(id);
      waiting.reject(/** @type {Error} */ (error));
      return false;
    }
  }

  /**
   * Sends a change of the list of tools.
   *
   * @template {"enableTools" | "disableTools" | "setAllowed" | "setBlocked" | "getActiveTools" | "batch"} K
   * @param {string} request
   * @param {K} kind
   * @param {Like<Messages[K]>} message
   * @returns {Promise<any>}
   */
  control(request, kind, message) {
    const id = `list-${++this.#last}`;
    this.#output.send(kind, message, { requestId: id, forCall: this.#features.has("for-call") ? request : "" });
    return new Promise((resolve, reject) => this.#waiting.set(id, { request, resolve, reject }));
  }

  /** @param {Envelope} envelope */
  answered({ requestId, message }) {
    const waiting = this.#waiting.get(requestId);
    if (!waiting) return;
    this.#waiting.delete(requestId);
    const { error } = /** @type {any} */ (message);
    if (error) waiting.reject(new AskError(typeof error === "string" ? error : error.message || error.errorCode));
    else waiting.resolve(message);
  }

  /**
   * Fails the questions of a request that has ended; of all, without one.
   *
   * @param {string | undefined} request
   * @param {string} reason
   */
  fail(request, reason) {
    if (!this.#waiting.size) return;
    for (const [id, waiting] of this.#waiting) {
      if (request !== undefined && waiting.request !== request) continue;
      this.#waiting.delete(id);
      waiting.reject(new AskError(reason));
    }
  }

  /**
   * True while a request waits for an answer.
   *
   * @param {string} request
   */
  isOpen(request) {
    for (const waiting of this.#waiting.values()) if (waiting.request === request) return true;
    return false;
  }
}
