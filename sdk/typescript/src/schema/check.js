/**
 * Checks values against a JSON Schema: the keywords that tools use. Others, and patterns that do not compile, allow
 * everything; `pmcp` checks arguments against all of JSON Schema before they arrive here.
 *
 * The regular expressions of JavaScript backtrack: 41 characters can take seconds, in which no other call runs. `pmcp`
 * matches patterns in linear time, and those with lookaround or references to groups in a bounded number of steps. So a
 * pattern is not matched again if `pmcp` says that the arguments match.
 *
 * @module
 */

import { nearest } from "./nearest.js";

/** @import { JsonSchema } from "../types.js" */

/** More complaints are not collected. */
const MOST = 10;
/** The characters of a value in a complaint. */
const QUOTED = 80;
/** A number of JSON that may be infinite in JavaScript. */
const LARGE = /\d[eE]\+?\d{3}|\d{309}/;
/** Deeper values are not checked. */
const DEEPEST = 64;

/**
 * The complaints about a value, as lines for a model; none if it fits.
 *
 * @param {JsonSchema} schema
 * @param {unknown} value
 * @param {{ patterns?: boolean }} [checked] without `patterns`, texts are not compared with patterns
 */
export function complaints(schema, value, { patterns = true } = {}) {
  /** @type {string[]} */
  const found = [];
  new Check(schema, found, patterns).visit(schema, value, "", 0);
  return found;
}

/**
 * The complaints about numbers that are infinite in JavaScript; none if all are read as they are written.
 *
 * @param {string | undefined} json
 * @param {unknown} value the value of this JSON
 */
export function infinities(json, value) {
  /** @type {string[]} */
  const found = [];
  if (json && LARGE.test(json)) collectInfinities(value, "", found);
  return found.slice(0, MOST);
}

/**
 * @param {unknown} value
 * @param {string} path
 * @param {string[]} found
 */
function collectInfinities(value, path, found) {
  if (value === Infinity || value === -Infinity)
    found.push(at(path, "expected a number within ±1.8e308, got a larger one"));
  if (typeof value !== "object" || value === null) return;
  for (const [name, part] of Object.entries(value)) collectInfinities(part, `${path}/${name}`, found);
}

/**
 * A value in a complaint.
 *
 * @param {unknown} value
 */
export function quote(value) {
  const text = brief(value);
  if (text !== undefined && text.length <= QUOTED) return text;
  if (Array.isArray(value)) return `an array of ${value.length} elements`;
  return typeof value === "string"
    ? `a string of ${value.length} characters`
    : `an object of ${Object.keys(Object(value)).length} members`;
}

/**
 * The JSON of a value, without most of one that is too long.
 *
 * @param {unknown} value
 */
function brief(value) {
  let left = QUOTED;
  try {
    return JSON.stringify(value, (_, part) => (left-- > 0 ? part : fail())) ?? String(value);
  } catch {
    return undefined;
  }
}

/** @returns {never} */
function fail() {
  throw new RangeError("the value is too long");
}

/**
 * A complaint with the place that it is about.
 *
 * @param {string} path
 * @param {string} text
 */
export const at = (path, text) => (path ? `at ${path}: ${text}` : text);

/**
 * The complaint about a name that a schema does not know.
 *
 * @param {string} name
 * @param {string[]} known
 */
export function unknownName(name, known) {
  const near = nearest(name, known);
  const hint = near
    ? `did you mean ${JSON.stringify(near)}?`
    : known.length
      ? `expected ${known
          .slice(0, 20)
          .map((one) => JSON.stringify(one))
          .join(", ")}`
      : "there are none";
  return `unknown argument ${JSON.stringify(name)}; ${hint}`;
}

class Check {
  /**
   * @param {JsonSchema} root
   * @param {string[]} found
   * @param {boolean} patterns texts are compared with patterns
   * @param {Map<unknown, Map<unknown, string[]>>} [tried] the complaints about objects and arrays, by schema: a value is
   *   visited once for each, however many choices lead there
   */
  constructor(root, found, patterns, tried = new Map()) {
    this.root = root;
    this.found = found;
    this.patterns = patterns;
    this.tried = tried;
  }

  /**
   * @param {string} path
   * @param {string} text
   */
  complain(path, text) {
    if (this.found.length < MOST) this.found.push(at(path, text));
  }

  /**
   * @param {any} schema
   * @param {unknown} value
   * @param {string} path
   * @param {number} depth
   */
  visit(schema, value, path, depth) {
    if (schema === true || depth > DEEPEST || typeof schema !== "object" || schema === null) {
      if (schema === false) this.complain(path, "no value is allowed here");
      return;
    }
    if (typeof schema.$ref === "string") this.visit(this.resolve(schema.$ref), value, path, depth + 1);
    if (!this.type(schema, value, path)) return;
    this.choices(schema, value, path);
    if (typeof value === "string") this.text(schema, value, path);
    else if (typeof value === "number") this.number(schema, value, path);
    else if (Array.isArray(value)) this.array(schema, value, path, depth);
    else if (typeof value === "object" && value !== null)
      this.object(schema, /** @type {Record<string, unknown>} */ (value), path, depth);
    this.combined(schema, value, path, depth);
  }

  /** @param {string} ref */
  resolve(ref) {
    if (ref !== "#" && !ref.startsWith("#/")) return true;
    /** @type {any} */
    let here = this.root;
    // A pointer in a URI is decoded before it is split (RFC 6901, section 6).
    for (const step of decoded(ref.slice(1)).split("/").slice(1)) {
      here = here?.[step.replace(/~1/g, "/").replace(/~0/g, "~")];
    }
    return here ?? true;
  }

  /**
   * @param {any} schema
   * @param {unknown} value
   * @param {string} path
   */
  type(schema, value, path) {
    if (schema.type === undefined) return true;
    const types = Array.isArray(schema.type) ? schema.type : [schema.type];
    if (types.some((/** @type {string} */ type) => isType(type, value))) return true;
    this.complain(path, `expected ${types.join(" or ")}, got ${quote(value)}`);
    return false;
  }

  /**
   * @param {any} schema
   * @param {unknown} value
   * @param {string} path
   */
  choices(schema, value, path) {
    if ("const" in schema && !same(schema.const, value))
      this.complain(path, `expected ${quote(schema.const)}, got ${quote(value)}`);
    if (!Array.isArray(schema.enum) || schema.enum.some((/** @type {unknown} */ one) => same(one, value))) return;
    const texts = schema.enum.filter((/** @type {unknown} */ one) => typeof one === "string");
    const near = typeof value === "string" ? nearest(value, texts) : undefined;
    const hint = near ? `; did you mean ${JSON.stringify(near)}?` : "";
    this.complain(
      path,
      `expected one of ${schema.enum.slice(0, 20).map(quote).join(", ")}, got ${quote(value)}${hint}`,
    );
  }

  /**
   * @param {any} schema
   * @param {string} value
   * @param {string} path
   */
  text(schema, value, path) {
    const length = schema.minLength === undefined && schema.maxLength === undefined ? 0 : [...value].length;
    if (length < schema.minLength)
      this.complain(path, `expected at least ${schema.minLength} characters, got ${quote(value)}`);
    if (length > schema.maxLength)
      this.complain(path, `expected at most ${schema.maxLength} characters, got ${length}`);
    if (this.patterns && typeof schema.pattern === "string" && compile(schema.pattern)?.test(value) === false) {
      this.complain(path, `expected text that matches ${schema.pattern}, got ${quote(value)}`);
    }
  }

  /**
   * @param {any} schema
   * @param {number} value
   * @param {string} path
   */
  number(schema, value, path) {
    if (value < schema.minimum) this.complain(path, `expected at least ${schema.minimum}, got ${value}`);
    if (value > schema.maximum) this.complain(path, `expected at most ${schema.maximum}, got ${value}`);
    if (value <= schema.exclusiveMinimum)
      this.complain(path, `expected more than ${schema.exclusiveMinimum}, got ${value}`);
    if (value >= schema.exclusiveMaximum)
      this.complain(path, `expected less than ${schema.exclusiveMaximum}, got ${value}`);
    const steps = value / schema.multipleOf;
    if (Math.abs(steps - Math.round(steps)) > 1e-9)
      this.complain(path, `expected a multiple of ${schema.multipleOf}, got ${value}`);
  }

  /**
   * @param {any} schema
   * @param {unknown[]} value
   * @param {string} path
   * @param {number} depth
   */
  array(schema, value, path, depth) {
    if (value.length < schema.minItems)
      this.complain(path, `expected at least ${schema.minItems} elements, got ${value.length}`);
    if (value.length > schema.maxItems)
      this.complain(path, `expected at most ${schema.maxItems} elements, got ${value.length}`);
    const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    for (let index = 0; index < value.length && this.found.length < MOST; index++) {
      const element = index < first.length ? first[index] : schema.items;
      if (element !== undefined) this.visit(element, value[index], `${path}/${index}`, depth + 1);
    }
  }

  /**
   * @param {any} schema
   * @param {Record<string, unknown>} value
   * @param {string} path
   * @param {number} depth
   */
  object(schema, value, path, depth) {
    const properties = schema.properties ?? {};
    for (const name of Array.isArray(schema.required) ? schema.required : []) {
      if (!Object.hasOwn(value, name))
        this.complain(path, `${JSON.stringify(name)} is missing${describe(properties[name])}`);
    }
    for (const name of Object.keys(value)) {
      if (value[name] === undefined) continue;
      if (Object.hasOwn(properties, name)) this.visit(properties[name], value[name], `${path}/${name}`, depth + 1);
      else if (schema.patternProperties) continue;
      else if (schema.additionalProperties === false) this.complain(path, unknownName(name, Object.keys(properties)));
      else if (schema.additionalProperties)
        this.visit(schema.additionalProperties, value[name], `${path}/${name}`, depth + 1);
    }
  }

  /**
   * @param {any} schema
   * @param {unknown} value
   * @param {string} path
   * @param {number} depth
   */
  combined(schema, value, path, depth) {
    for (const all of Array.isArray(schema.allOf) ? schema.allOf : [])
      for (const complaint of this.attempt(all, value, path, depth)) this.complain("", complaint);
    const choices = schema.anyOf ?? schema.oneOf;
    if (!Array.isArray(choices)) return;
    const possible = choices.filter((choice) => !this.excludes(choice, value));
    /** @type {string[] | undefined} */
    let least;
    for (const choice of possible.length ? possible : choices) {
      const found = this.attempt(choice, value, path, depth);
      if (!found.length) return;
      if (!least || found.length < least.length) least = found;
    }
    // Of several that do not fit, the one with the fewest complaints was probably meant.
    for (const complaint of least ?? []) this.complain("", complaint);
  }

  /**
   * The complaints about a value by itself.
   *
   * @param {any} schema
   * @param {unknown} value
   * @param {string} path
   * @param {number} depth
   * @returns {string[]}
   */
  attempt(schema, value, path, depth) {
    const known = this.tried.get(schema) ?? new Map();
    this.tried.set(schema, known);
    if (known.has(value)) return known.get(value);
    /** @type {string[]} */
    const found = [];
    // Before the visit: a schema that refers to itself says nothing more.
    if (typeof value === "object" && value !== null) known.set(value, found);
    new Check(this.root, found, this.patterns, this.tried).visit(schema, value, path, depth + 1);
    return found;
  }

  /**
   * True if the type of a value, or a constant member, is not the one of this choice.
   *
   * @param {any} choice
   * @param {unknown} value
   */
  excludes(choice, value) {
    const schema = typeof choice?.$ref === "string" ? this.resolve(choice.$ref) : choice;
    if (schema?.type !== undefined && ![schema.type].flat().some((type) => isType(type, value))) return true;
    if (!isType("object", value)) return false;
    return Object.entries(Object(schema?.properties)).some(([name, member]) => {
      if (!Object.hasOwn(Object(value), name)) return false;
      const choices = Array.isArray(member?.enum) ? member.enum : "const" in Object(member) ? [member.const] : undefined;
      return choices?.every((/** @type {unknown} */ one) => !same(one, /** @type {any} */ (value)[name])) ?? false;
    });
  }
}

/** @param {any} schema */
function describe(schema) {
  const { type, description } = schema ?? {};
  const parts = [typeof type === "string" && type, typeof description === "string" && description].filter(Boolean);
  return parts.length ? ` (${parts.join(": ")})` : "";
}

/**
 * @param {string} type
 * @param {unknown} value
 */
function isType(type, value) {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/**
 * @param {unknown} a
 * @param {unknown} b
 */
const same = (a, b) => a === b || (typeof a === "object" && JSON.stringify(a) === JSON.stringify(b));

/**
 * A fragment of a URI without its escapes.
 *
 * @param {string} text
 */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @type {Map<string, RegExp | undefined>} */
const patterns = new Map();

/** @param {string} pattern */
function compile(pattern) {
  if (!patterns.has(pattern)) {
    let made;
    try {
      made = new RegExp(pattern, "u");
    } catch {
      // The pattern is of another dialect.
    }
    patterns.set(pattern, made);
  }
  return patterns.get(pattern);
}
