/**
 * Results as JSON text.
 *
 * @module
 */

import { describeError, ResultError } from "./errors.js";

/** Objects of JavaScript that JSON writes as they are; others without their own members would be `{}`. */
const WRITTEN = new Set(["Object", "Array", "Date", "Number", "String", "Boolean", "Arguments"]);

/**
 * JSON text. Bigints become numbers where they fit, else text; see {@link form} for the objects that JSON does not know.
 *
 * @param {unknown} value
 * @param {string} [what] the name of the value in an error
 * @returns {string}
 */
export function stringify(value, what = "result") {
  try {
    const text = JSON.stringify(value) ?? "null";
    if (!hasOther(value)) return text;
  } catch {
    // The replacer finds a form, or the reason.
  }
  try {
    // With a replacer it takes several times as long.
    return JSON.stringify(value, replace) ?? "null";
  } catch (error) {
    const { message } = describeError(error);
    throw new ResultError(`the ${what} has no form in JSON: ${message}`, { code: "INVALID_RESULT" });
  }
}

/**
 * The JSON text of a value that is an object in JSON; empty for others, such as dates.
 *
 * @param {unknown} value
 */
export function objectJson(value) {
  const text = stringify(value);
  return text.startsWith("{") ? text : "";
}

/**
 * The value that JSON writes in place of another one; `other` of a value that has no form.
 *
 * @param {(value: unknown) => unknown} other
 * @param {unknown} value
 */
export function formOr(other, value) {
  try {
    return replace("", value);
  } catch {
    return other(value);
  }
}

/**
 * @param {string} _name
 * @param {unknown} value
 */
function replace(_name, value) {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return typeof value === "object" && value !== null ? form(value) : value;
}

/**
 * True if a value may hold an object that JSON does not know.
 *
 * @param {unknown} value without a circle
 * @returns {boolean}
 */
function hasOther(value) {
  if (typeof value !== "object" || value === null) return false;
  if (typeof (/** @type {any} */ (value).toJSON) === "function") return !(value instanceof Date);
  if (Array.isArray(value)) return value.some(hasOther);
  if (isNumbers(value)) return false;
  if (form(value) !== value) return true;
  for (const name in value) if (hasOther(/** @type {any} */ (value)[name])) return true;
  return false;
}

/**
 * The value that JSON writes in place of an object: the entries of a Map, the elements of a Set, the text of a regular
 * expression, the message of an error. Objects such as promises, and those that have their values in getters, have none.
 *
 * @param {object} value
 */
function form(value) {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Array.prototype || (prototype === Object.prototype && !(Symbol.toStringTag in value))) return value;
  if (value instanceof Map) return ofMap(value);
  if (value instanceof Set) return [...value];
  if (value instanceof RegExp) return String(value);
  if (value instanceof Error) return describeError(value).message;
  const name = Object.prototype.toString.call(value).slice(8, -1);
  if (isNumbers(value) || Object.keys(value).length > 0 || (WRITTEN.has(name) && !hasGetters(prototype))) return value;
  throw new TypeError(`it holds an object of the type ${name === "Object" ? prototype.constructor.name : name}`);
}

/** @param {object} value */
const isNumbers = (value) => ArrayBuffer.isView(value) && !(value instanceof DataView);

/**
 * True if objects of a class have values that are not own members, which JSON leaves out.
 *
 * @param {any} prototype
 * @returns {boolean}
 */
function hasGetters(prototype) {
  if (prototype === null || prototype === Object.prototype) return false;
  const members = Object.values(Object.getOwnPropertyDescriptors(prototype));
  return members.some(({ get }) => get) || hasGetters(Object.getPrototypeOf(prototype));
}

/** @param {Map<unknown, unknown>} map */
function ofMap(map) {
  const made = Object.fromEntries(/** @type {Map<string, unknown>} */ (map));
  const isText = [...map.keys()].every((key) => typeof key === "string" || typeof key === "number");
  if (isText && Object.keys(made).length === map.size) return made;
  throw new TypeError("the keys of a Map are not text");
}
