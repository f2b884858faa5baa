/**
 * One schema for the arguments of several actions.
 *
 * @module
 */

import { stringify } from "../json.js";

/** @import { JsonSchema } from "../types.js" */

const REFERENCE = /^#\/(?:\$defs|definitions)\/([^/]+)/;

/** The arguments of all actions. Those with one name may have several schemas. */
export class JoinedArguments {
  /** @type {Record<string, any>} */
  #definitions = {};
  /** @type {Map<string, Map<string, unknown>>} */
  #schemas = new Map();

  /** @param {JsonSchema} action the schema of the argument that chooses */
  constructor(action) {
    this.#keep("action", action);
  }

  /**
   * @param {JsonSchema} json
   * @param {string} about
   */
  add(json, about) {
    const own = Object(json.properties);
    if (Object.hasOwn(own, "action"))
      throw new TypeError(`${about}: the argument "action" chooses the action: give it another name`);
    const definitions = { ...Object(json.definitions), ...Object(json.$defs) };
    const isKnown = (/** @type {string} */ one) => Object.hasOwn(this.#definitions, one);
    const hasOther = Object.entries(definitions).some(
      ([one, schema]) => isKnown(one) && stringify(this.#definitions[one]) !== stringify(schema),
    );
    /** @type {Map<string, string>} */
    const names = new Map();
    for (const one of Object.keys(definitions)) {
      let free = one;
      while (hasOther && (isKnown(free) || [...names.values()].includes(free))) free += "_";
      names.set(one, free);
    }
    for (const [one, schema] of Object.entries(definitions))
      this.#definitions[/** @type {string} */ (names.get(one))] = renamed(schema, names);
    for (const [argument, schema] of Object.entries(own)) this.#keep(argument, renamed(schema, names));
  }

  /**
   * @param {string} argument
   * @param {unknown} schema
   */
  #keep(argument, schema) {
    const schemas = this.#schemas.get(argument) ?? new Map();
    this.#schemas.set(argument, schemas.set(stringify(schema), schema));
  }

  /** @returns {Record<string, unknown>} */
  get properties() {
    const join = (/** @type {unknown[]} */ schemas) => (schemas.length === 1 ? schemas[0] : { anyOf: schemas });
    return Object.fromEntries([...this.#schemas].map(([argument, schemas]) => [argument, join([...schemas.values()])]));
  }

  /** @returns {JsonSchema} */
  get json() {
    const $defs = this.#definitions;
    const json = { type: "object", properties: this.properties, required: ["action"] };
    return Object.keys($defs).length ? { ...json, $defs } : json;
  }
}

/**
 * A schema whose references have other names.
 *
 * @param {any} schema
 * @param {Map<string, string>} names
 * @returns {any}
 */
function renamed(schema, names) {
  if (Array.isArray(schema)) return schema.map((each) => renamed(each, names));
  if (typeof schema !== "object" || schema === null || names.size === 0) return schema;
  const target = (/** @type {unknown} */ reference) =>
    String(reference).replace(REFERENCE, (_, name) => `#/$defs/${names.get(name) ?? name}`);
  const entries = Object.entries(schema).map(([keyword, each]) => {
    if (keyword === "$ref") return [keyword, target(each)];
    // A discriminator of OpenAPI.
    const isMapping = keyword === "mapping" && "propertyName" in schema && typeof each === "object" && each !== null;
    if (!isMapping) return [keyword, renamed(each, names)];
    return [keyword, Object.fromEntries(Object.entries(each).map(([value, reference]) => [value, target(reference)]))];
  });
  return Object.fromEntries(entries);
}
