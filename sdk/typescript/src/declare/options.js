/**
 * Checks of what authors write: most mistakes are names, and JavaScript itself says nothing about them.
 *
 * @module
 */

import { nearest } from "../schema/nearest.js";

/** Names of other SDKs, by the name here. @type {Record<string, string>} */
const ELSEWHERE = {
  inputSchema: "input",
  parameters: "input",
  params: "input",
  schema: "input",
  outputSchema: "output",
  annotations: "readOnly, destructive, idempotent and openWorld",
  execute: "handler",
  callback: "handler",
  fn: "handler",
  run: "handler",
  load: "handler",
  _meta: "meta",
  timeoutMs: "nothing: the time limit is --call-timeout of pmcp",
};

const DESCRIBED = ["name", "title", "description", "icons", "meta", "values", "handler"];
const HINTS = ["readOnly", "destructive", "idempotent", "openWorld"];
export const ACTION = [
  ...DESCRIBED,
  ...HINTS,
  ...HINTS.map((hint) => `${hint}Hint`),
  "input",
  "args",
  "output",
  "hidden",
  "task",
  "taskSupport",
  "app",
  "visibility",
];
export const STEP = [...ACTION, "next"];
export const PROMPT = [...DESCRIBED, "input", "args", "arguments", "complete"];
export const RESOURCE = [...DESCRIBED, "uri", "mimeType", "size", "annotations"];
export const TEMPLATE = [...DESCRIBED, "uriTemplate", "mimeType", "annotations", "complete"];

/**
 * Throws if the options of a declaration cannot be meant.
 *
 * @param {string} what the function, which takes one object
 * @param {any} options
 * @param {string[]} known
 * @param {string} [name] the name of the declaration, if it is not an option
 */
export function checkOptions(what, options, known, name = options?.name ?? options?.uri ?? options?.uriTemplate) {
  if (typeof options !== "object" || options === null)
    throw new TypeError(`${what} takes one object: ${what}({ name, handler })`);
  const about = typeof name === "string" && name ? `${what} ${JSON.stringify(name)}` : `a ${what}`;
  for (const option of Object.keys(options)) {
    if (known.includes(option)) continue;
    const near = ELSEWHERE[option] ?? nearest(option, known);
    const hint = near ? `: use ${near}` : `; there are ${known.join(", ")}`;
    throw new TypeError(`${about} has an unknown option ${JSON.stringify(option)}${hint}`);
  }
  if (typeof options.handler !== "function") throw new TypeError(`${about} has no handler`);
  for (const [name, provider] of Object.entries(options.values ?? {}))
    if (typeof provider !== "function")
      throw new TypeError(`${about}: the value ${JSON.stringify(name)} is not provided by a function`);
}
