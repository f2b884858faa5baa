/**
 * Declarations become definitions on the wire.
 *
 * @module
 */

import { describeError } from "../errors.js";
import { stringify } from "../json.js";
import { compileInput, compileOutput } from "../schema/schema.js";

/** @import { PromptEntry, Registry, ToolEntry } from "../registry.js" */
/** @import { Described, Hints } from "../types.js" */
/** @import { Like, PromptDefinition, ResourceDefinition, ResourceTemplateDefinition, ToolDefinition } from "../wire/message-types.js" */

/**
 * Compiles the schemas of a tool when they are first needed: they may refer to what is declared below them.
 *
 * @param {ToolEntry} tool
 */
export function compileTool(tool) {
  const { input, args, output } = tool.options;
  const about = `tool ${JSON.stringify(tool.name)}`;
  tool.input ??= compileInput(input ?? args, `${about}, input`);
  if (output !== undefined) tool.output ??= compileOutput(output, `${about}, output`);
}

/**
 * @param {Registry} registry
 * @returns {Like<ToolDefinition>[]}
 */
export const toolDefinitions = (registry) => [...registry.tools].map(toolDefinition);

/**
 * The tools that start out hidden.
 *
 * @param {Registry} registry
 */
export const hiddenTools = (registry) =>
  [...registry.tools].filter(({ options }) => options.hidden).map(({ name }) => name);

/**
 * @param {ToolEntry} tool
 * @returns {Like<ToolDefinition>}
 */
function toolDefinition(tool) {
  compileTool(tool);
  const { options } = tool;
  const about = `tool ${JSON.stringify(tool.name)}`;
  const task = options.task ?? options.taskSupport ?? false;
  const ui = {
    ...(options.app && { resourceUri: options.app.uri }),
    ...(options.visibility && { visibility: options.visibility }),
  };
  const meta = Object.keys(ui).length ? { ...options.meta, ui } : options.meta;
  return {
    name: tool.name,
    ...described(about, options, meta),
    inputSchemaJson: stringify(tool.input?.json, `input schema of ${about}`),
    outputSchemaJson: tool.output && stringify(tool.output.json, `output schema of ${about}`),
    annotationsJson: annotations(options),
    taskSupport: Boolean(task),
    taskRequired: task === "required",
    checksArguments: tool.input?.isOfLibrary,
  };
}

/** @param {Hints} hints */
function annotations(hints) {
  const stated = {
    readOnlyHint: hints.readOnly ?? hints.readOnlyHint,
    destructiveHint: hints.destructive ?? hints.destructiveHint,
    idempotentHint: hints.idempotent ?? hints.idempotentHint,
    openWorldHint: hints.openWorld ?? hints.openWorldHint,
  };
  return Object.values(stated).some((hint) => hint !== undefined) ? JSON.stringify(stated) : "";
}

/**
 * @param {Registry} registry
 * @param {(text: string) => void} [leaveOut] is told of definitions without a form; without it, they are errors
 * @returns {Like<ResourceDefinition>[]}
 */
export const resourceDefinitions = (registry, leaveOut) =>
  all(registry.resources.values(), leaveOut, (options) => {
    const about = `resource ${JSON.stringify(options.uri)}`;
    return {
      uri: options.uri,
      name: options.name ?? options.uri,
      mimeType: options.mimeType,
      size: options.size,
      annotationsJson: json(`option annotations of ${about}`, options.annotations),
      ...described(about, options, options.meta),
    };
  });

/**
 * @param {Registry} registry
 * @param {(text: string) => void} [leaveOut]
 * @returns {Like<ResourceTemplateDefinition>[]}
 */
export const templateDefinitions = (registry, leaveOut) =>
  all(registry.templates.values(), leaveOut, (options) => {
    const about = `resource template ${JSON.stringify(options.uriTemplate)}`;
    return {
      uriTemplate: options.uriTemplate,
      name: options.name ?? options.uriTemplate,
      mimeType: options.mimeType,
      annotationsJson: json(`option annotations of ${about}`, options.annotations),
      ...described(about, options, options.meta),
    };
  });

/**
 * @param {Registry} registry
 * @param {(text: string) => void} [leaveOut]
 * @returns {Like<PromptDefinition>[]}
 */
export const promptDefinitions = (registry, leaveOut) =>
  all(registry.prompts, leaveOut, (prompt) => ({
    name: prompt.name,
    arguments: promptArguments(prompt),
    ...described(`prompt ${JSON.stringify(prompt.name)}`, prompt.options, prompt.options.meta),
  }));

/**
 * @template E, D
 * @param {Iterable<E>} entries
 * @param {((text: string) => void) | undefined} leaveOut
 * @param {(entry: E) => D} define
 * @returns {D[]}
 */
const all = (entries, leaveOut, define) =>
  [...entries].flatMap((entry) => {
    try {
      return [define(entry)];
    } catch (error) {
      if (!leaveOut) throw error;
      leaveOut(describeError(error).message);
      return [];
    }
  });

/** @param {PromptEntry} prompt */
function promptArguments(prompt) {
  const { options } = prompt;
  if (options.arguments) return options.arguments.map((one) => ({ ...one }));
  const schema = /** @type {any} */ (promptSchema(prompt)?.json);
  return Object.entries(Object(schema?.properties)).map(([name, property]) => ({
    name,
    title: property.title,
    description: property.description,
    required: schema.required?.includes(name) ?? false,
  }));
}

/**
 * The schema of the arguments of a prompt, if it has one.
 *
 * @param {PromptEntry} prompt
 */
export function promptSchema(prompt) {
  const schema = prompt.options.input ?? prompt.options.args;
  if (schema !== undefined) prompt.input ??= compileInput(schema, `prompt ${JSON.stringify(prompt.name)}`);
  return prompt.input;
}

/**
 * @param {string} about
 * @param {Described} options
 * @param {Record<string, unknown> | undefined} meta
 */
const described = (about, { title, description, icons }, meta) => ({
  title,
  description,
  iconsJson: json(`option icons of ${about}`, icons),
  metadataJson: json(`option meta of ${about}`, meta),
});

/**
 * @param {string} about the value in an error
 * @param {unknown} value
 */
const json = (about, value) => (value === undefined ? "" : stringify(value, about));
