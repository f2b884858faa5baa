/**
 * Code that runs before the first request and after the last one, and the values that it makes.
 *
 * @module
 */

import { checkFunction } from "./options.js";
import { registry } from "../registry.js";

/**
 * Runs before the tools are listed. An error ends the start, and its message is shown.
 *
 * @param {() => unknown} work
 */
export function onStart(work) {
  checkFunction("onStart: the argument", work);
  registry.hooks.push({ start: work });
}

/**
 * Runs when the process ends, the last one first.
 *
 * @param {() => unknown} work
 */
export function onStop(work) {
  checkFunction("onStop: the argument", work);
  registry.hooks.push({ stop: work });
}

/**
 * A value that is made at the start and that all handlers share.
 *
 * ```js
 * const db = shared(() => openDatabase(), (db) => db.close());
 * tool({ name: "count", handler: () => db.value.count() });
 * ```
 *
 * @template T
 * @param {() => T | Promise<T>} make
 * @param {(value: T) => unknown} [dispose]
 * @returns {{ readonly value: T }}
 */
export function shared(make, dispose) {
  checkFunction("shared: the argument", make);
  /** @type {{ value: T } | undefined} */
  let made;
  registry.hooks.push({
    start: async () => {
      made = { value: await make() };
    },
    stop: async () => {
      if (made) await dispose?.(made.value);
      made = undefined;
    },
  });
  return {
    get value() {
      if (!made) throw new Error("a shared value is made at the start: use it in handlers");
      return made.value;
    },
  };
}
