/**
 * Requests other than calls: resources, prompts and completion.
 *
 * @module
 */

import { isContent } from "../content.js";
import { completionKey } from "../declare/prompt.js";
import { invalidArguments, ResultError, ToolError } from "../errors.js";
import { stringify } from "../json.js";
import { infinities, quote } from "../schema/check.js";
import { decodeTexts } from "../schema/texts.js";
import { nearest } from "../schema/nearest.js";
import { callHandler } from "../values.js";
import { parseObject } from "./context.js";
import { promptSchema } from "./definitions.js";
import { matchTemplate } from "./template.js";
import { encoded } from "./uri.js";

/** @import { PromptEntry, Registry } from "../registry.js" */
/** @import { Completer, ResourcePart, Suggestions } from "../types.js" */
/** @import { CompletionRequest, CompletionResponse, GetPromptRequest, GetPromptResponse, Like, ReadResourceResponse, ResourceContent } from "../wire/message-types.js" */
/** @import { RequestContext } from "./context.js" */

/**
 * @param {Registry} registry
 * @param {string} uri
 * @param {RequestContext} context
 * @returns {Promise<Like<ReadResourceResponse>>}
 */
export async function readResource(registry, uri, context) {
  const options = registry.resources.get(uri) ?? sameResource(registry, uri);
  if (options) return resourceAnswer(await callHandler(options, uri, context, {}), uri, options.mimeType, context);
  for (const template of registry.templates.values()) {
    const params = matchTemplate(template.uriTemplate, uri);
    if (!params) continue;
    context.params = params;
    const body = await callHandler(template, uri, context, params);
    return resourceAnswer(body, uri, template.mimeType, context);
  }
  return {};
}

/**
 * The resource whose URI is the same in another form, as clients encode it.
 *
 * @param {Registry} registry
 * @param {string} uri
 */
function sameResource(registry, uri) {
  const form = encoded(uri);
  for (const [known, options] of registry.resources) if (encoded(known) === form) return options;
  return undefined;
}

/**
 * @param {any} body
 * @param {string} uri
 * @param {string | undefined} mimeType
 * @param {RequestContext} context
 * @returns {Like<ReadResourceResponse>}
 */
function resourceAnswer(body, uri, mimeType, context) {
  // An error that is returned is one, as in tools.
  if (body instanceof Error) throw body;
  const whole = typeof body === "object" && body !== null && "contents" in body ? body : { contents: body };
  return { contents: contents(whole.contents, uri, mimeType), metadataJson: replyMeta(whole.meta, context) };
}

/**
 * @param {any} body
 * @param {string} uri
 * @param {string | undefined} mimeType
 * @returns {Like<ResourceContent>[]}
 */
function contents(body, uri, mimeType) {
  if (body === undefined || body === null) return [];
  return (Array.isArray(body) ? body : [body]).map((part) => {
    if (typeof part === "string") return { uri, mimeType, text: part };
    if (isBytes(part)) return { uri, mimeType, blob: bytes(part) };
    /** @type {ResourcePart} */
    const { text, blob, meta } = Object(part);
    if ((text ?? undefined) === undefined && !isBytes(blob))
      throw new ResultError(
        `the body of ${JSON.stringify(uri)} is ${quote(part)}: return a text, bytes, { text } or { blob: bytes }, or a list of them`,
        { code: "INVALID_RESULT" },
      );
    const metadataJson = meta && stringify(meta);
    return { uri: part.uri ?? uri, mimeType: part.mimeType ?? mimeType, text, blob: blob && bytes(blob), metadataJson };
  });
}

/**
 * @param {unknown} value
 * @returns {value is Uint8Array | ArrayBuffer}
 */
const isBytes = (value) => value instanceof Uint8Array || value instanceof ArrayBuffer;

/** @param {Uint8Array | ArrayBuffer} value */
const bytes = (value) => (value instanceof ArrayBuffer ? new Uint8Array(value) : value);

/**
 * @param {Registry} registry
 * @param {GetPromptRequest} request
 * @param {RequestContext} context
 * @returns {Promise<Like<GetPromptResponse>>}
 */
export async function getPrompt(registry, request, context) {
  const prompt = findPrompt(registry, request.name);
  const args = await promptArguments(prompt, request.argumentsJson);
  const body = /** @type {any} */ (await callHandler(prompt.options, args, context));
  if (body instanceof Error) throw body;
  const { messages = body, description = prompt.options.description, meta } =
    Array.isArray(body) || typeof body === "string" ? {} : Object(body);
  const list = Array.isArray(messages) ? messages : [messages];
  return {
    description,
    metadataJson: replyMeta(meta, context),
    messages: list.map((message) => promptMessage(prompt, message)),
  };
}

/**
 * @param {PromptEntry} prompt
 * @param {any} message
 */
function promptMessage(prompt, message) {
  const { role = "user", content = message } = Object(message);
  if (isContent(content)) return { role, contentJson: stringify(content) };
  if (["string", "number", "boolean", "bigint"].includes(typeof content))
    return { role, contentJson: JSON.stringify({ type: "text", text: String(content) }) };
  throw new ResultError(
    `a message of prompt ${JSON.stringify(prompt.name)} is ${quote(message)}: return a text, a content block or { role, content }, or a list of them`,
    { code: "INVALID_RESULT" },
  );
}

/**
 * The `_meta` of an answer, for a bridge that passes it on.
 *
 * @param {Record<string, unknown> | undefined} meta
 * @param {RequestContext} context
 */
const replyMeta = (meta, context) =>
  meta && context._session.features.has("reply-metadata") ? JSON.stringify(meta) : "";

/**
 * @param {Registry} registry
 * @param {string} name
 */
function findPrompt(registry, name) {
  for (const prompt of registry.prompts) if (prompt.name === name) return prompt;
  const near = nearest(
    name,
    [...registry.prompts].map((prompt) => prompt.name),
  );
  throw new ToolError(`there is no prompt ${JSON.stringify(name)}`, {
    code: "NOT_FOUND",
    suggestion: near ? `did you mean ${JSON.stringify(near)}?` : "",
  });
}

/**
 * @param {PromptEntry} prompt
 * @param {string} json
 */
async function promptArguments(prompt, json) {
  const schema = promptSchema(prompt);
  // A library decodes texts itself, if its author wants it: `z.coerce`.
  const args = schema && !schema.isOfLibrary ? decodeTexts(schema.json, parseObject(json)) : parseObject(json);
  const infinite = infinities(json, args);
  const outcome = infinite.length ? { complaints: infinite } : ((await schema?.check(args)) ?? { value: args });
  if (!outcome.complaints) return outcome.value;
  throw invalidArguments(`prompt ${JSON.stringify(prompt.name)}`, outcome.complaints);
}

/**
 * @param {Registry} registry
 * @param {CompletionRequest} request
 * @param {RequestContext} context
 * @returns {Promise<Like<CompletionResponse>>}
 */
export async function complete(registry, request, context) {
  const completer = findCompleter(registry, request);
  if (!completer) return {};
  const settled = /** @type {Record<string, string>} */ (parseObject(request.contextJson));
  const found = await completer(request.argumentValue, settled, context);
  const { values, total, hasMore, meta } = /** @type {Exclude<Suggestions, readonly string[]>} */ (
    Array.isArray(found) ? { values: found, total: found.length, hasMore: found.length > 100 } : found
  );
  return { values: values.slice(0, 100), total, hasMore, metadataJson: replyMeta(meta, context) };
}

/**
 * @param {Registry} registry
 * @param {CompletionRequest} request
 * @returns {Completer | undefined}
 */
function findCompleter(registry, { refType, refName, argumentName }) {
  const declared = registry.completions.get(completionKey(refType, refName, argumentName));
  if (declared) return declared;
  if (refType !== "ref/prompt") {
    const template =
      registry.templates.get(refName) ??
      [...registry.templates.values()].find(({ uriTemplate }) => matchTemplate(uriTemplate, refName));
    return template?.complete?.[argumentName];
  }
  for (const prompt of registry.prompts) {
    if (prompt.name === refName) return prompt.options.complete?.[argumentName] ?? ofEnumeration(prompt, argumentName);
  }
  return undefined;
}

/**
 * Suggests the values of an enumeration.
 *
 * @param {PromptEntry} prompt
 * @param {string} argument
 * @returns {Completer | undefined}
 */
function ofEnumeration(prompt, argument) {
  const schema = /** @type {any} */ (promptSchema(prompt)?.json)?.properties?.[argument];
  if (!Array.isArray(schema?.enum)) return undefined;
  return (typed) =>
    schema.enum
      .filter((/** @type {unknown} */ one) => String(one).toLowerCase().startsWith(typed.toLowerCase()))
      .map(String);
}
