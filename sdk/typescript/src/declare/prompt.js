/**
 * Prompts, and suggestions for their arguments.
 *
 * @module
 */

import { ENTRIES, registry } from "../registry.js";
import { checkFunction, checkOptions, PROMPT } from "./options.js";

/** @import { Completer, Declared, PromptOptions, Provider, Schema } from "../types.js" */
/** @import { PromptEntry } from "../registry.js" */

/**
 * Declares a prompt.
 *
 * ```js
 * prompt({
 *   name: "explain",
 *   arguments: [{ name: "topic", required: true }],
 *   handler: ({ topic }) => `Explain ${topic} in simple terms`,
 * });
 * ```
 *
 * @template {Schema} [const In=never]
 * @template {Record<string, Provider<any>>} [V={}]
 * @param {PromptOptions<In, V>} options
 * @returns {Declared}
 */
export function prompt(options) {
  checkOptions("prompt", options, PROMPT);
  /** @type {PromptEntry} */
  const entry = { name: options.name ?? "", options, input: undefined };
  const declared = registry.add(registry.prompts, entry, "prompts");
  ENTRIES.set(declared, entry);
  return declared;
}

/**
 * Suggests values for an argument of a prompt (`ref/prompt` and its name), or for a variable of a resource template
 * (`ref/resource` and its template).
 *
 * @param {"ref/prompt" | "ref/resource"} reference
 * @param {string} name
 * @param {string} argument
 * @param {Completer} completer
 * @returns {Declared}
 */
export function completion(reference, name, argument, completer) {
  if (reference !== "ref/prompt" && reference !== "ref/resource")
    throw new TypeError(`completion: the reference is "ref/prompt" or "ref/resource", not ${JSON.stringify(reference)}`);
  checkFunction(`completion of ${JSON.stringify(argument)} of ${JSON.stringify(name)}: the function`, completer);
  const key = completionKey(reference, name, argument);
  if (registry.completions.has(key))
    throw new TypeError(`there are two completions of ${JSON.stringify(argument)} of ${JSON.stringify(name)}`);
  registry.completions.set(key, completer);
  return { remove: () => void registry.completions.delete(key) };
}

/**
 * @param {string} reference
 * @param {string} name
 * @param {string} argument
 */
export const completionKey = (reference, name, argument) => JSON.stringify([reference, name, argument]);
