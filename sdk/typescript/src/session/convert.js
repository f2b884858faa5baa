/**
 * The value of a handler becomes a result on the wire: README, "Results".
 *
 * @module
 */

import { isContent, isPlain } from "../content.js";
import { describeError, describeFailure, ResultError } from "../errors.js";
import { objectJson, stringify } from "../json.js";
import { ToolResult } from "../result.js";
import { quote } from "../schema/check.js";

/** @import { CallToolResponse, Like } from "../wire/message-types.js" */
/** @import { ToolEntry } from "../registry.js" */
/** @import { Outcome } from "../schema/schema.js" */

/** @typedef {Like<CallToolResponse>} WireResult */

/**
 * @param {ToolEntry} tool
 * @param {unknown} value
 * @returns {WireResult | Promise<WireResult>}
 */
export function toWire(tool, value) {
  if (value instanceof ToolResult) return ofResult(tool, value);
  // An error that is returned, as by some libraries, is one.
  if (value instanceof Error) throw value;
  if (tool.output) return structured(tool, value, undefined);
  if (typeof value === "string") return { resultJson: JSON.stringify(value) };
  if (isOfficial(value)) {
    const { content, structuredContent, isError, _meta } = value;
    return ofResult(tool, new ToolResult({ content, structured: structuredContent, isError, meta: _meta }));
  }
  return ofValue(value);
}

/**
 * @param {unknown} error
 * @returns {WireResult}
 */
export function failure(error) {
  const described = describeFailure(error);
  return { isError: true, resultJson: JSON.stringify(described.message), error: described };
}

/**
 * Content as JSON: an array of blocks, or one text.
 *
 * @param {unknown} value
 */
export const contentJson = (value) => saidJson(value) ?? JSON.stringify(stringify(value));

/**
 * The JSON of a value that is content by itself; nothing for others.
 *
 * @param {unknown} value
 */
function saidJson(value) {
  if (value === undefined || value === null) return "[]";
  if (typeof value === "string") return JSON.stringify(value);
  if (isContent(value)) return stringify([value]);
  if (isBlocks(value)) return stringify(value);
  if (value instanceof Error) return JSON.stringify(describeError(value).message);
  if (value instanceof Uint8Array)
    throw new TypeError(
      "bytes are not content by themselves: return image(bytes), audio(bytes) or embedded(uri, bytes)",
    );
  return undefined;
}

/**
 * A value as text and, if it is an object in JSON, as structured content: a date is an object in JavaScript alone.
 *
 * @param {unknown} value
 * @returns {WireResult}
 */
function ofValue(value) {
  const said = saidJson(value);
  if (said !== undefined) return { resultJson: said };
  const json = stringify(value);
  return { resultJson: JSON.stringify(json), structuredContentJson: json.startsWith("{") ? json : "" };
}

/**
 * Content with structured content next to it; a value that is not an object in JSON is text behind the content.
 *
 * @param {unknown} content
 * @param {unknown} structured
 * @returns {WireResult}
 */
function ofParts(content, structured) {
  const isAlone = content === undefined || content === null;
  const whole = structured instanceof Uint8Array ? "" : objectJson(structured);
  if (whole) return { resultJson: contentJson(isAlone ? structured : content), structuredContentJson: whole };
  const own = contentJson(structured);
  if (isAlone) return { resultJson: own };
  return { resultJson: JSON.stringify([JSON.parse(contentJson(content)), JSON.parse(own)].flat()) };
}

/**
 * @param {ToolEntry} tool
 * @param {ToolResult} result
 * @returns {WireResult | Promise<WireResult>}
 */
function ofResult(tool, result) {
  const rest = {
    enableTools: result.enable,
    disableTools: result.disable,
    metadataJson: result.meta && stringify(result.meta),
  };
  if (result.isError) return { ...rest, ...ofError(result) };
  const given = result.structured ?? (tool.output ? parsed(result.content) : undefined);
  if (tool.output) {
    const wire = structured(tool, given, result.content);
    return wire instanceof Promise ? wire.then((wire) => ({ ...wire, ...rest })) : { ...wire, ...rest };
  }
  return { ...rest, ...(given === undefined ? ofValue(result.content) : ofParts(result.content, given)) };
}

/** @param {ToolResult} result */
function ofError({ content, structured, errorCode, message, suggestion, retryable }) {
  const said = content ?? message;
  const isSaid = structured === undefined || structured === null;
  const error = errorCode || message || suggestion || retryable;
  return {
    isError: true,
    ...(isSaid ? { resultJson: contentJson(said) } : ofParts(said, structured)),
    error: error ? { errorCode: errorCode ?? "TOOL_ERROR", message: message ?? "", suggestion, retryable } : undefined,
  };
}

/**
 * @param {ToolEntry} tool
 * @param {unknown} value
 * @param {unknown} content
 * @returns {WireResult | Promise<WireResult>}
 */
function structured(tool, value, content) {
  const output = /** @type {NonNullable<ToolEntry["output"]>} */ (tool.output);
  const finish = (/** @type {Outcome} */ outcome) => {
    if (outcome.complaints) throw mismatch(tool, outcome.complaints);
    const whole = stringify(output.wraps ? { result: outcome.value } : outcome.value);
    if (!whole.startsWith("{")) throw mismatch(tool, [`expected object, got ${quote(JSON.parse(whole))}`]);
    // A client that knows no structured content reads the same as text.
    const mirror =
      content === undefined ? JSON.stringify(output.wraps ? stringify(outcome.value) : whole) : contentJson(content);
    return { resultJson: mirror, structuredContentJson: whole };
  };
  const outcome = output.check(value);
  return outcome instanceof Promise ? outcome.then(finish) : finish(outcome);
}

/**
 * @param {ToolEntry} tool
 * @param {string[]} complaints
 */
function mismatch(tool, complaints) {
  const list = complaints.map((complaint) => `\n- ${complaint}`).join("");
  const text = `the result of tool ${JSON.stringify(tool.name)} does not fit its own output schema:${list}`;
  return new ResultError(text, { code: "OUTPUT_SCHEMA_MISMATCH" });
}

/** @param {unknown} content */
function parsed(content) {
  if (typeof content !== "string") return content;
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}

/**
 * The form of the official SDK.
 *
 * @param {any} value
 * @returns {value is { content: unknown[], structuredContent?: unknown, isError?: boolean, _meta?: Record<string, unknown> }}
 */
const isOfficial = (value) =>
  isPlain(value) && Array.isArray(value.content) && value.content.length > 0 && value.content.every(isContent);

/** @param {unknown} value */
const isBlocks = (value) =>
  Array.isArray(value) && value.some(isContent) && value.every((one) => isContent(one) || typeof one === "string");
