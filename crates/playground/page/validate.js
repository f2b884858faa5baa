// The faults of a value by its schema, for a person who types it. The server has the last word: regular expressions and
// formats are its own.

import { resolve } from "./schema.js";

/** The most faults that are found. */
const MAX_FAULTS = 20;
/** The most schemas that are visited; beyond them nothing is said. */
const MAX_VISITS = 20_000;

/** The most schemas and values within each other. */
const MAX_DEPTH = 200;

/** @typedef {{root: any, visits: number, depth: number, faults: string[]}} Walk */

/**
 * The faults of a value, each with its place; `null` if the check would take too long.
 *
 * @param {any} value as `parse` returns it
 * @param {any} schema
 * @returns {string[] | null}
 */
export function faults(value, schema) {
  const walk = { root: schema, visits: 0, depth: 0, faults: [] };
  check(value, schema, "", walk);
  return walk.visits > MAX_VISITS ? null : walk.faults;
}

/** @param {any} value @param {any} given @param {string} at @param {Walk} walk */
function check(value, given, at, walk) {
  walk.visits += 1;
  if (walk.visits > MAX_VISITS || walk.depth > MAX_DEPTH || walk.faults.length >= MAX_FAULTS) return;
  walk.depth += 1;
  checkWithin(value, given, at, walk);
  walk.depth -= 1;
}

/** @param {any} value @param {any} given @param {string} at @param {Walk} walk */
function checkWithin(value, given, at, walk) {
  const schema = resolve(given, walk.root);
  const say = (/** @type {string} */ why) => void walk.faults.push(`${at || "the value"}: ${why}`);
  if (schema === false) return say("is not allowed");
  if (!schema || typeof schema !== "object") return;
  const types = [schema.type ?? []].flat();
  if (types.length && !types.some((type) => isOf(value, type))) {
    return say(`is ${kindOf(value)}, and not ${types.join(" or ")}`);
  }
  if ("const" in schema && !same(value, schema.const)) say(`is not ${JSON.stringify(schema.const)}`);
  if (Array.isArray(schema.enum) && !schema.enum.some((/** @type {any} */ one) => same(value, one))) {
    say(`is none of ${schema.enum.map((/** @type {any} */ one) => JSON.stringify(one)).join(", ").slice(0, 200)}`);
  }
  sizes(value, schema, say);
  if (Array.isArray(value)) ofList(value, schema, at, walk);
  else if (kindOf(value) === "object") ofObject(value, schema, at, walk, say);
  choices(value, schema, at, walk, say);
}

/** @param {any} value @param {any} schema @param {(why: string) => void} say */
function sizes(value, schema, say) {
  if (kindOf(value) === "number" && typeof value === "number") {
    if (value < schema.minimum) say(`is less than ${schema.minimum}`);
    if (value > schema.maximum) say(`is more than ${schema.maximum}`);
    if (value <= schema.exclusiveMinimum) say(`is not more than ${schema.exclusiveMinimum}`);
    if (value >= schema.exclusiveMaximum) say(`is not less than ${schema.exclusiveMaximum}`);
  } else if (typeof value === "string") {
    const length = [...value].length;
    if (length < schema.minLength) say(`is shorter than ${schema.minLength} characters`);
    if (length > schema.maxLength) say(`is longer than ${schema.maxLength} characters`);
  } else if (Array.isArray(value)) {
    if (value.length < schema.minItems) say(`has less than ${schema.minItems} items`);
    if (value.length > schema.maxItems) say(`has more than ${schema.maxItems} items`);
    const isRepeated = schema.uniqueItems === true && new Set(value.map((item) => JSON.stringify(item))).size < value.length;
    if (isRepeated) say("has an item twice");
  }
}

/** @param {any[]} value @param {any} schema @param {string} at @param {Walk} walk */
function ofList(value, schema, at, walk) {
  const first = Array.isArray(schema.items) ? schema.items : schema.prefixItems ?? [];
  const rest = Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  value.forEach((item, place) => {
    const inner = place < first.length ? first[place] : rest;
    if (inner !== undefined) check(item, inner, `${at}/${place}`, walk);
  });
}

/** @param {any} value @param {any} schema @param {string} at @param {Walk} walk @param {(why: string) => void} say */
function ofObject(value, schema, at, walk, say) {
  const properties = schema.properties ?? {};
  for (const name of schema.required ?? []) if (!Object.hasOwn(value, name)) say(`has no ${name}`);
  for (const [name, member] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) check(member, properties[name], `${at}/${name}`, walk);
    else if (schema.patternProperties || schema.additionalProperties === undefined) continue;
    else if (schema.additionalProperties === false) say(`has ${name}, which the schema does not know`);
    else check(member, schema.additionalProperties, `${at}/${name}`, walk);
  }
}

/** @param {any} value @param {any} schema @param {string} at @param {Walk} walk @param {(why: string) => void} say */
function choices(value, schema, at, walk, say) {
  for (const word of ["anyOf", "oneOf"]) {
    const options = schema[word];
    if (!Array.isArray(options)) continue;
    const fitting = options.filter((option) => {
      const inner = { ...walk, faults: [] };
      check(value, option, at, inner);
      walk.visits = inner.visits;
      return inner.faults.length === 0;
    });
    if (fitting.length === 0) say("fits no variant");
    else if (word === "oneOf" && fitting.length > 1) say("fits more than one variant");
  }
}

/** @param {any} value */
function kindOf(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "object" && typeof value.rawJSON === "string") return "number";
  return typeof value;
}

/** @param {any} value @param {any} type */
function isOf(value, type) {
  const kind = kindOf(value);
  if (type !== "integer") return kind === type;
  return kind === "number" && (typeof value === "number" ? Number.isInteger(value) : !/[.eE]/.test(value.rawJSON));
}

/** @param {any} a @param {any} b */
function same(a, b) {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
