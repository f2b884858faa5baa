/**
 * Tools.
 *
 * @module
 */

import { ENTRIES, registry } from "../registry.js";
import { ACTION, checkOptions } from "./options.js";

/** @import { Provider, Schema, Tool, ToolOptions } from "../types.js" */
/** @import { ToolEntry } from "../registry.js" */
/** @import { Compiled } from "../schema/schema.js" */

/**
 * Declares a tool.
 *
 * ```js
 * tool({
 *   name: "add",
 *   description: "Adds two numbers",
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   handler: ({ a, b }) => String(a + b),
 * });
 * ```
 *
 * `input` and `output` are schemas of zod, arktype or any library with Standard Schema, or JSON Schema. A tool without a
 * name has the one under which its module exports it.
 *
 * @template {Schema} [const In=never]
 * @template {Schema} [const Out=never]
 * @template {Record<string, Provider<any>>} [V={}]
 * @param {ToolOptions<In, Out, V>} options
 * @returns {Tool<In, Out>}
 */
export function tool(options) {
  return declareTool(options, undefined);
}

/**
 * Declares a tool, whose schema of arguments may be compiled already.
 *
 * @param {ToolOptions<any, any, any>} options
 * @param {Compiled | undefined} input
 * @returns {Tool<any, any>}
 */
export function declareTool(options, input) {
  checkOptions("tool", options, ACTION);
  /** @type {ToolEntry} */
  const entry = { name: options.name ?? "", options, input, output: undefined };
  const { remove } = registry.add(registry.tools, entry, "tools");
  const declared = {
    get name() {
      return entry.name;
    },
    options,
    remove,
  };
  ENTRIES.set(declared, entry);
  return declared;
}
