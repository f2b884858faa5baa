/**
 * Tools that belong together.
 *
 * @module
 */

import { unknownName } from "../schema/check.js";
import { JoinedArguments } from "../schema/join.js";
import { compileInput, compileLater } from "../schema/schema.js";
import { invalidArguments, ToolError } from "../errors.js";
import { callHandler } from "../values.js";
import { ACTION, checkNames, checkOptions, GROUP } from "./options.js";
import { declareTool, tool } from "./tool.js";

/** @import { Described, Hints, Schema, Tool, ToolContext, ToolOptions } from "../types.js" */

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
