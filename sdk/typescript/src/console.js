/**
 * `console` as log messages for clients.
 *
 * @module
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { format } from "node:util";

import { registry } from "./registry.js";
import { log } from "./globals.js";

/** @import { Level, ToolContext } from "./types.js" */

/** @type {[keyof Console, Level][]} */
const LEVELS = [
  ["debug", "debug"],
  ["log", "info"],
  ["info", "info"],
  ["warn", "warning"],
  ["error", "error"],
];

/** @type {AsyncLocalStorage<ToolContext> | undefined} */
let calls;

/**
 * From here on, `console.log` and the like also send log messages to the client whose call they belong to. Without it
 * they are written to the log of `pmcp` alone, and never disturb the protocol.
 */
export function logConsole() {
  if (calls) return;
  const storage = (calls = new AsyncLocalStorage());
  registry.ambient = (context, work) => storage.run(context, work);
  for (const [method, level] of LEVELS) {
    const write = /** @type {(...args: unknown[]) => void} */ (console[method]).bind(console);
    /** @type {any} */ (console)[method] = (/** @type {unknown[]} */ ...args) => {
      write(...args);
      (storage.getStore()?.log ?? log)(level, format(...args), "console");
    };
  }
}
