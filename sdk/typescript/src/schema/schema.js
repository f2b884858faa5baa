/**
 * Schemas of any kind become a JSON Schema and a check.
 *
 * @module
 */

import { stringify } from "../json.js";
import { at, complaints, quote, unknownName } from "./check.js";

/** @import { Issue, JsonSchema, Schema, StandardSchema } from "../types.js" */

/**
 * The outcome of a check: the value, with defaults and transformations, or complaints as lines.
 *
 * @typedef {{ value: any, complaints?: undefined } | { complaints: string[] }} Outcome
 */

/**
 * The state of a value before it is checked.
 *
 * @typedef {object} State
 * @property {boolean} [matches] the bridge has compared it with this JSON Schema, and it matches
 */

/**
 * @typedef {object} Compiled
 * @property {JsonSchema} json
 * @property {(value: unknown, state?: State) => Outcome | Promise<Outcome>} check
 * @property {boolean} isOfLibrary a library checks the values, and may convert some that the JSON Schema does not allow
 */

/** The library cannot say its schema as JSON Schema. */
const WRAPPERS = /** @type {Record<string, string>} */ ({
  valibot: "wrap it: toStandardJsonSchema(schema) of @valibot/to-json-schema",
  zod: 'use zod 4.2 or later; for zod/mini: withJsonSchema(schema, z.toJSONSchema(schema, { io: "input" }))',
});

/**
 * Gives a schema that cannot say itself as JSON Schema one that its author has written or converted.
 *
 * @template Input, Output
 * @param {StandardSchema<Input, Output>} schema
 * @param {JsonSchema} json
 * @returns {StandardSchema<Input, Output>}
 */
export function withJsonSchema(schema, json) {
  const standard = { ...schema["~standard"], jsonSchema: { input: () => json, output: () => json } };
  return { "~standard": /** @type {any} */ (standard) };
}

/**
 * @param {unknown} schema
 * @returns {schema is StandardSchema}
 */
export const isStandard = (schema) =>
  (typeof schema === "object" || typeof schema === "function") && schema !== null && "~standard" in schema;

/**
 * The schema of arguments, which are an object.
 *
 * @param {Schema | undefined} schema
 * @param {string} about
 * @returns {Compiled}
 */
export function compileInput(schema, about) {
  if (schema === undefined) return compilePlain({ type: "object", additionalProperties: false });
  const json = asObject(toJson(schema, "input", about));
  if (!json) throw new TypeError(`${about}: the schema of arguments must be one of an object`);
  if (!isStandard(schema)) return compilePlain(json);
  const known = namesOf(json);
  const closed = known ? { ...json, additionalProperties: false } : json;
  const check = (/** @type {unknown} */ value) => unknownNames(known, value) ?? checkStandard(schema, value);
  return { json: closed, check, isOfLibrary: true };
}

/**
 * The schema of a tool whose handler checks its arguments by schemas of a library, after it has read those in `first`.
 *
 * @param {JsonSchema} json
 * @param {JsonSchema} first
 * @returns {Compiled}
 */
export const compileLater = (json, first) => ({ ...compilePlain(first), json, isOfLibrary: true });

/**
 * The schema of a structured result, which is an object: another value is wrapped in the member `result`.
 *
 * @param {Schema} schema
 * @param {string} about
 * @returns {Compiled & { wraps: boolean }}
 */
export function compileOutput(schema, about) {
  const json = toJson(schema, "output", about);
  const plain = compilePlain(json);
  const check = (/** @type {unknown} */ value) =>
    // A library knows the types of JavaScript; JSON Schema is about the JSON of a value.
    isStandard(schema) ? checkStandard(schema, value) : plain.check(JSON.parse(stringify(value)));
  const whole = asObject(json);
  const isOfLibrary = isStandard(schema);
  if (whole) return { json: whole, check, isOfLibrary, wraps: false };
  const wrapped = { type: "object", properties: { result: json }, required: ["result"] };
  return { json: wrapped, check, isOfLibrary, wraps: true };
}

/**
 * @param {Schema} schema
 * @param {"input" | "output"} side
 * @param {string} about
 * @returns {JsonSchema}
 */
export function toJson(schema, side, about) {
  if (!isStandard(schema)) {
    if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
      throw new TypeError(`${about}: a schema is JSON Schema, or one of a library with Standard Schema`);
    }
    checkShape(schema, about);
    return schema;
  }
  const standard = /** @type {any} */ (schema["~standard"]);
  const convert = standard.jsonSchema?.[side];
  if (typeof convert !== "function") {
    const advice = WRAPPERS[standard.vendor] ?? "use withJsonSchema(schema, jsonSchema)";
    throw new TypeError(`${about}: ${standard.vendor} cannot say this schema as JSON Schema; ${advice}`);
  }
  const target = "draft-2020-12";
  let json;
  try {
    json = convert.call(standard.jsonSchema, { target });
  } catch {
    // Dates and the like: any value in the schema, and the library checks it.
    json = convert.call(standard.jsonSchema, { target, libraryOptions: { unrepresentable: "any" } });
  }
  return tidy(json);
}

/**
 * Throws for the members of an object without the object, and for JSON Schema with schemas of a library in it.
 *
 * @param {JsonSchema} schema
 * @param {string} about
 */
function checkShape(schema, about) {
  const [name] = Object.entries({ ...Object(schema.properties), ...schema }).find(([, each]) => isStandard(each)) ?? [];
  if (name !== undefined) {
    throw new TypeError(
      `${about}: ${JSON.stringify(name)} is the schema of a member: wrap it, as in z.object({ ${name}: … })`,
    );
  }
  const place = foreignPlace(schema, "", new Set());
  if (place === undefined) return;
  throw new TypeError(
    `${about}: ${place} is a schema of a library inside of JSON Schema: write this part as JSON Schema, or the whole with the library`,
  );
}

/**
 * The place of the first schema of a library in a value.
 *
 * @param {unknown} value
 * @param {string} place
 * @param {Set<object>} seen
 * @returns {string | undefined}
 */
function foreignPlace(value, place, seen) {
  if (isStandard(/** @type {any} */ (value))) return place;
  if (typeof value !== "object" || value === null || seen.has(value)) return undefined;
  seen.add(value);
  for (const [name, each] of Object.entries(value)) {
    const found = foreignPlace(each, `${place}/${name}`, seen);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * @param {StandardSchema} schema
 * @param {unknown} value
 * @returns {Outcome | Promise<Outcome>}
 */
function checkStandard(schema, value) {
  const outcome = schema["~standard"].validate(value);
  const read = (/** @type {any} */ outcome) => ofStandard(outcome, value);
  return outcome instanceof Promise ? outcome.then(read) : read(outcome);
}

/**
 * @param {{ value?: unknown, issues?: readonly Issue[] | undefined }} outcome
 * @param {unknown} value
 * @returns {Outcome}
 */
const ofStandard = (outcome, value) =>
  outcome.issues
    ? { complaints: outcome.issues.slice(0, 10).map((issue) => explain(issue, value)) }
    : { value: outcome.value };

/**
 * The complaint of a library, with the value that it is about.
 *
 * @param {Issue} issue
 * @param {any} value
 */
function explain({ path = [], message }, value) {
  const steps = path.map((step) => (typeof step === "object" ? step.key : step));
  const inner = steps.reduce((/** @type {any} */ whole, step) => whole?.[step], value);
  const got = path.length && inner !== undefined ? `, got ${quote(inner)}` : "";
  return at(steps.map((step) => `/${String(step)}`).join(""), `${message}${got}`);
}

/**
 * @param {JsonSchema} json
 * @returns {Compiled}
 */
function compilePlain(json) {
  return {
    json,
    isOfLibrary: false,
    check: (value, { matches = false } = {}) => {
      const found = complaints(json, value, { patterns: !matches });
      return found.length ? { complaints: found } : { value };
    },
  };
}

/**
 * The names of an object that has no others: libraries drop unknown ones in silence, so a misspelt name would be lost.
 *
 * @param {any} json
 */
function namesOf(json) {
  const open = [
    "additionalProperties",
    "patternProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "$ref",
    "unevaluatedProperties",
  ];
  return json.properties && !open.some((keyword) => keyword in json)
    ? new Set(Object.keys(json.properties))
    : undefined;
}

/**
 * @param {Set<string> | undefined} known
 * @param {unknown} value
 * @returns {Outcome | undefined}
 */
function unknownNames(known, value) {
  if (!known || typeof value !== "object" || value === null) return undefined;
  for (const name in value) {
    if (!known.has(name)) {
      const others = Object.keys(value).filter((name) => !known.has(name));
      return { complaints: others.slice(0, 10).map((name) => unknownName(name, [...known])) };
    }
  }
  return undefined;
}

/**
 * The schema, if it is one of an object; with the type that hosts insist on.
 *
 * @param {JsonSchema} json
 */
function asObject(json) {
  if (json.type === "object") return json;
  const members = json.anyOf ?? json.oneOf ?? json.allOf;
  const isObject =
    json.type === undefined && (json.properties || json.$ref || (Array.isArray(members) && members.every(asObject)));
  return isObject || Object.keys(json).length === 0 ? { type: "object", ...json } : undefined;
}

/**
 * Leaves out the words that libraries add and that say nothing to a model.
 *
 * @param {any} json
 * @returns {any}
 */
function tidy(json) {
  if (Array.isArray(json)) return json.map(tidy);
  if (typeof json !== "object" || json === null) return json;
  /** @type {Record<string, unknown>} */
  const kept = {};
  for (const [name, value] of Object.entries(json)) {
    if (name === "$schema" || name === "~standard") continue;
    // The format says the same to a model, and the library checks it with a better message.
    if (name === "pattern" && typeof json.format === "string") continue;
    if (
      (name === "maximum" && value === Number.MAX_SAFE_INTEGER) ||
      (name === "minimum" && value === Number.MIN_SAFE_INTEGER)
    )
      continue;
    kept[name] = ["enum", "const", "default", "examples"].includes(name) ? value : tidy(value);
  }
  return kept;
}
