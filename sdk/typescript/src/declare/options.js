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

/** Options that are texts. */
const TEXTS = ["name", "title", "description", "uri", "uriTemplate", "mimeType"];
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
const SHARED = ACTION.filter((option) => !["input", "args", "output", "values", "handler"].includes(option));
export const GROUP = [...SHARED, "strategy", "separator", "actions"];
export const WORKFLOW = ["name", "description", "first", "steps", "state", "ttlMs", "onCancel", "allowDuring"];
export const APP = ["name", "uri", "html", "file", "title", "description", "csp", "permissions", "domain", "prefersBorder"];
export const MIDDLEWARE = ["name", "priority", "before", "after"];
export const SIDECAR = ["name", "command", "cwd", "env", "healthCheck", "healthTimeout", "startOn", "stopTimeout"];
const ARGUMENT = ["name", "title", "description", "required"];
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
  checkNames(what, options, known, name);
  const about = aboutOf(what, options, name);
  if (options.handler === undefined) throw new TypeError(`${about} has no handler`);
  checkFunction(`${about}: the handler`, options.handler);
  checkTexts(about, options);
  for (const argument of options.arguments ?? []) {
    checkNames(`${about}, argument`, argument, ARGUMENT);
    checkTexts(`${about}, argument ${JSON.stringify(argument.name)}`, argument);
  }
  for (const [name, provider] of Object.entries(options.values ?? {}))
    if (typeof provider !== "function")
      throw new TypeError(`${about}: the value ${JSON.stringify(name)} is not provided by a function`);
}

/**
 * Throws if an object has members that are not known.
 *
 * @param {string} what the function, or the object in a message
 * @param {any} options
 * @param {string[]} known
 * @param {unknown} [name]
 */
export function checkNames(what, options, known, name = options?.name) {
  if (typeof options !== "object" || options === null)
    throw new TypeError(`${what} takes one object: ${what}({ ${known.includes("handler") ? "name, handler" : known[0]} })`);
  for (const option of Object.keys(options)) {
    if (known.includes(option)) continue;
    const near = (known.includes("handler") ? ELSEWHERE[option] : undefined) ?? nearest(option, known);
    const hint = near ? `: use ${near}` : `; there are ${known.join(", ")}`;
    const about = known.includes("name") ? aboutOf(what, options, name) : what;
    throw new TypeError(`${about} has an unknown option ${JSON.stringify(option)}${hint}`);
  }
}

/**
 * Throws if a part that is a text is something else: it could not be sent.
 *
 * @param {string} about
 * @param {any} options
 */
function checkTexts(about, options) {
  for (const option of TEXTS)
    if (options[option] && typeof options[option] !== "string")
      throw new TypeError(`${about}: ${option} is a text, not a value of type ${typeof options[option]}`);
}

/**
 * @param {string} what
 * @param {unknown} value
 */
export function checkFunction(what, value) {
  if (typeof value === "function") return;
  throw new TypeError(value === undefined ? `${what} is missing` : `${what} is not a function`);
}

/**
 * A declaration in a message: with its name, or what else its author knows it by.
 *
 * @param {string} what
 * @param {any} options
 * @param {unknown} name
 */
function aboutOf(what, options, name) {
  if (typeof name === "string" && name) return `${what} ${JSON.stringify(name)}`;
  const { title, description } = options;
  return title || description ? `a ${what} (${title ?? description})` : `a ${what}`;
}
