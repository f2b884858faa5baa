/**
 * Code around the calls of all tools.
 *
 * @module
 */

import { checkFunction, checkNames, MIDDLEWARE } from "./options.js";
import { registry } from "../registry.js";

/** @import { Declared, LocalMiddleware, MiddlewareOptions } from "../types.js" */

/**
 * Wraps the calls of all tools in this process; the first one is the outermost.
 *
 * ```js
 * use(async (call, next) => {
 *   const start = performance.now();
 *   try {
 *     return await next();
 *   } finally {
 *     console.error(call.tool, performance.now() - start);
 *   }
 * });
 * ```
 *
 * @param {LocalMiddleware} wrap
 * @returns {Declared}
 */
export function use(wrap) {
  checkFunction("use: the argument", wrap);
  registry.local.push(wrap);
  return {
    remove: () => {
      const at = registry.local.indexOf(wrap);
      if (at >= 0) registry.local.splice(at, 1);
    },
  };
}

/**
 * Registers a middleware with the bridge, which asks it before and after each call. Each question is a message, so `use`
 * is faster; this one sees the result as the bridge has it. Declared before the start only.
 *
 * @param {MiddlewareOptions} options
 */
export function middleware(options) {
  checkNames("middleware", options, MIDDLEWARE);
  if (typeof options.name !== "string" || !options.name) throw new TypeError("a middleware has a name");
  const about = `middleware ${JSON.stringify(options.name)}`;
  for (const phase of /** @type {const} */ (["before", "after"]))
    if (options[phase] !== undefined) checkFunction(`${about}: ${phase}`, options[phase]);
  if (!options.before && !options.after) throw new TypeError(`${about} has neither before nor after`);
  if (registry.middleware.has(options.name))
    throw new TypeError(`there are two middlewares ${JSON.stringify(options.name)}`);
  registry.middleware.set(options.name, options);
}
