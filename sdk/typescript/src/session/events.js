/**
 * The steps of one call, for those who watch.
 *
 * @module
 */

import { parseObject } from "./context.js";

/** @import { CallEvent } from "../types.js" */

/** Reports the steps of a call. It begins with the first one. */
export class Events {
  #started = performance.now();
  #sinks;
  #about;

  /**
   * @param {((event: CallEvent) => void)[]} sinks
   * @param {string} tool
   * @param {string} argumentsJson
   */
  constructor(sinks, tool, argumentsJson) {
    const args = parseObject(argumentsJson);
    this.#sinks = sinks;
    this.#about = { tool, args, action: typeof args.action === "string" ? args.action : undefined };
    this.report("start");
  }

  /**
   * @param {CallEvent["phase"]} phase
   * @param {Partial<CallEvent>} [more]
   */
  report(phase, more) {
    const event = { ...this.#about, phase, duration: performance.now() - this.#started, ...more };
    for (const sink of this.#sinks) sink(event);
  }
}
