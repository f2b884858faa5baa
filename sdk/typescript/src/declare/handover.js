/**
 * State that survives a reload: a process hands it over to the one with the next version of the file.
 *
 * @module
 */

import { checkFunction } from "./options.js";
import { registry } from "../registry.js";

/**
 * Keeps a state when the file is saved: `give` returns it in the process that is about to be replaced, after its last
 * call, and `take` receives it in the next one, before that lists its tools. It is sent as JSON, 1 MiB at most, and the
 * bridge waits five seconds for each of them: if `take` takes longer, the process before goes on. After a crash there is
 * nothing to take. If `take` throws an error, the process serves without the state, and the log has the reason.
 *
 * ```js
 * let visits = 0;
 * handOver(() => visits, (before) => (visits = before));
 * ```
 *
 * @template T
 * @param {() => T | Promise<T>} give
 * @param {(state: T) => unknown} take
 */
export function handOver(give, take) {
  checkFunction("handOver: the function that gives the state", give);
  checkFunction("handOver: the function that takes it", take);
  if (registry.handover) throw new TypeError("there are two states to hand over: give them as one object");
  registry.handover = { give, take };
}
