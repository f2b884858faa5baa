/**
 * Arguments of prompts are texts in MCP, also where their JSON Schema wants another type.
 *
 * @module
 */

/** @import { JsonSchema } from "../types.js" */

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const BOOLEAN = /^(true|false)$/;

/**
 * The arguments, with the values of the texts that the schema does not allow as texts. Others stay, for the complaint.
 *
 * @param {JsonSchema} schema
 * @param {Record<string, unknown>} args
 */
export function decodeTexts(schema, args) {
  const properties = /** @type {any} */ (schema.properties ?? {});
  const decoded = { ...args };
  for (const [name, value] of Object.entries(args)) {
    if (typeof value !== "string" || !Object.hasOwn(properties, name)) continue;
    const types = typesOf(schema, properties[name], 0);
    if (types.has("string") || types.has("any")) continue;
    const isNumber = (types.has("number") || types.has("integer")) && NUMBER.test(value);
    const isBoolean = types.has("boolean") && BOOLEAN.test(value);
    const number = Number(value);
    // A number that JavaScript does not have exactly stays a text, which the schema refuses.
    const isExact = Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
    decoded[name] = isBoolean || (isNumber && isExact) ? JSON.parse(value) : decodeCompound(types, value);
  }
  return decoded;
}

/**
 * The list or the object of a text, where the schema allows one; otherwise the text.
 *
 * @param {Set<string>} types
 * @param {string} text
 */
function decodeCompound(types, text) {
  if (!types.has("array") && !types.has("object")) return text;
  try {
    const value = JSON.parse(text);
    const type = Array.isArray(value) ? "array" : "object";
    return typeof value === "object" && value !== null && types.has(type) ? value : text;
  } catch {
    return text;
  }
}

/** Deeper references and alternatives allow everything. */
const DEEPEST = 16;

/**
 * The types that a schema allows; `any` if it does not say.
 *
 * @param {any} root
 * @param {any} schema
 * @param {number} depth
 * @returns {Set<string>}
 */
function typesOf(root, schema, depth) {
  if (typeof schema !== "object" || schema === null || depth > DEEPEST) return new Set(["any"]);
  if (schema.type !== undefined) return new Set([schema.type].flat());
  const values = schema.enum ?? ("const" in schema ? [schema.const] : undefined);
  if (Array.isArray(values)) return new Set(values.map((one) => (Array.isArray(one) ? "array" : typeof one)));
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(alternatives))
    return new Set(alternatives.flatMap((one) => [...typesOf(root, one, depth + 1)]));
  if (typeof schema.$ref !== "string" || !schema.$ref.startsWith("#/")) return new Set(["any"]);
  const steps = schema.$ref.slice(2).split("/");
  return typesOf(root, steps.reduce((/** @type {any} */ whole, /** @type {string} */ step) => whole?.[step], root), depth + 1);
}
