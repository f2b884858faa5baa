/**
 * Tools that belong together.
 *
 * @module
 */

import { unknownName } from "../schema/check.js";
import { compileInput, compileLater } from "../schema/schema.js";
import { invalidArguments, ToolError } from "../errors.js";
import { stringify } from "../json.js";
import { callHandler } from "../values.js";
import { ACTION, checkNames, checkOptions, GROUP } from "./options.js";
import { declareTool, tool } from "./tool.js";

/** @import { Described, Hints, JsonSchema, Schema, Tool, ToolContext, ToolOptions } from "../types.js" */

/**
 * One action of a group: a tool without the options that the group decides.
 *
 * @template {Schema} In
 * @template {Schema} Out
 * @typedef {Omit<ToolOptions<In, Out, any>, "name">} Action
 */

/**
 * Declares a group of tools. With the strategy `separate` (the default) each action is a tool named `GROUP_ACTION`. With
 * `union` the group is one tool, whose argument `action` chooses.
 *
 * @template {Record<string, Schema>} const In
 * @param {Described & Hints & {
 *   name: string,
 *   strategy?: "separate" | "union",
 *   separator?: string,
 *   actions: { [Name in keyof In]: Action<In[Name], any> },
 * }} options
 * @returns {Tool[]}
 */
export function toolGroup(options) {
  checkNames("toolGroup", options, GROUP);
  const { name, strategy = "separate", separator = "_", actions, ...shared } = options;
  const about = `toolGroup ${JSON.stringify(name)}`;
  if (typeof actions !== "object" || actions === null) throw new TypeError(`${about} has no actions`);
  if (strategy !== "separate" && strategy !== "union")
    throw new TypeError(`${about}: the strategy is "separate" or "union", not ${JSON.stringify(strategy)}`);
  const entries = /** @type {[string, Action<any, any>][]} */ (Object.entries(actions));
  for (const [action, declared] of entries) checkOptions("action", declared, ACTION, `${name}.${action}`);
  if (strategy === "union") return [union(name, shared, entries)];
  return entries.map(([action, declared]) => tool({ ...declared, name: `${name}${separator}${action}` }));
}

/**
 * One flat schema, because hosts reject alternatives at the top: all arguments of all actions, checked by the action.
 *
 * @param {string} name
 * @param {Described & Hints} shared
 * @param {[string, Action<any, any>][]} entries
 */
function union(name, shared, entries) {
  const compiled = new Map(
    entries.map(([action, options]) => [
      action,
      { options, input: compileInput(options.input ?? options.args, `${name}, ${action}`) },
    ]),
  );
  const action = { type: "string", enum: [...compiled.keys()], description: describe(entries) };
  const joined = new JoinedArguments(action);
  for (const [action, { input }] of compiled) joined.add(input.json, `${name}, ${action}`);
  const { properties, json } = joined;
  const ofLibraries = [...compiled.values()].some(({ input }) => input.isOfLibrary);
  const input = ofLibraries ? compileLater(json, { type: "object", properties: { action }, required: ["action"] }) : undefined;
  const declared = {
    ...shared,
    name,
    input: json,
    handler: async (/** @type {any} */ { action, ...args }, /** @type {ToolContext} */ context) => {
      const chosen = compiled.get(action);
      if (!chosen)
        throw new ToolError(unknownName(String(action), [...compiled.keys()]), { code: "INVALID_ARGUMENTS" });
      const matches = /** @type {any} */ (context)._matches && isPart(chosen.input.json, properties);
      const outcome = await chosen.input.check(args, { matches });
      if (!outcome.complaints) return callHandler(chosen.options, /** @type {any} */ (outcome).value, context);
      throw invalidArguments(`action ${JSON.stringify(action)} of tool ${JSON.stringify(name)}`, outcome.complaints);
    },
  };
  return declareTool(declared, input);
}

/** The arguments of all actions. Those with one name may have several schemas. */
class JoinedArguments {
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

const REFERENCE = /^#\/(?:\$defs|definitions)\/([^/]+)/;

/** The keywords of a schema that are about nothing but its members. */
const MEMBERS = ["type", "title", "description", "properties", "required", "additionalProperties"];

/**
 * True if all patterns of an action are the patterns of the listed arguments.
 *
 * @param {any} json
 * @param {Record<string, unknown>} listed
 */
const isPart = (json, listed) =>
  Object.keys(json).every((keyword) => MEMBERS.includes(keyword)) &&
  typeof json.additionalProperties !== "object" &&
  Object.entries(Object(json.properties)).every(
    ([name, schema]) => JSON.stringify(schema) === JSON.stringify(listed[name]),
  );

/** @param {[string, Action<any, any>][]} entries */
const describe = (entries) =>
  entries.map(([action, { description }]) => (description ? `${action}: ${description}` : action)).join("; ");
