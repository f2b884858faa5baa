/**
 * Every call, reported to functions that only watch.
 *
 * @module
 */

import { printError } from "../errors.js";
import { checkFunction } from "./options.js";
import { registry } from "../registry.js";

/** @import { CallEvent, Declared } from "../types.js" */

/**
 * Reports every call to a function: its start, its progress, and its success or its error.
 *
 * ```js
 * telemetry(({ tool, phase, duration }) => phase === "success" && histogram.record(duration, { tool }));
 * ```
 *
 * A function that fails does not affect the call; the log says so once.
 *
 * @param {(event: CallEvent) => unknown} sink
 * @returns {Declared}
 */
export function telemetry(sink) {
  checkFunction("telemetry: the argument", sink);
  let hasFailed = false;
  const failed = (/** @type {unknown} */ error) => {
    if (!hasFailed) printError("a telemetry function has failed:", error);
    hasFailed = true;
  };
  const report = (/** @type {CallEvent} */ event) => {
    try {
      const end = sink(event);
      if (end instanceof Promise) end.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
  registry.sinks.push(report);
  return {
    remove: () => {
      registry.sinks = registry.sinks.filter((other) => other !== report);
    },
  };
}
