/**
 * The value of a handler becomes a result on the wire: README, "Results".
 *
 * @module
 */

import { isContent, isPlain } from "../content.js";
import { describeError, ResultError } from "../errors.js";
import { ToolResult } from "../result.js";

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
  if (tool.output) return structured(tool, value, undefined);
  if (typeof value === "string") return { resultJson: JSON.stringify(value) };
  if (isOfficial(value)) {
    const { content, structuredContent, isError, _meta } = value;
    return ofResult(tool, new ToolResult({ content, structured: structuredContent, isError, meta: _meta }));
  }
  const resultJson = contentJson(value);
  return isPlain(value) ? { resultJson, structuredContentJson: stringify(value) } : { resultJson };
}

/**
 * @param {unknown} error
 * @returns {WireResult}
 */
export function failure(error) {
  const described = describeError(error);
  return { isError: true, resultJson: JSON.stringify(described.message), error: described };
}

/**
 * Content as JSON: an array of blocks, or one text.
 *
 * @param {unknown} value
 */
export function contentJson(value) {
  if (value === undefined || value === null) return "[]";
  if (typeof value === "string") return JSON.stringify(value);
  if (isContent(value)) return stringify([value]);
  if (isBlocks(value)) return stringify(value);
  if (value instanceof Uint8Array)
    throw new TypeError(
      "bytes are not content by themselves: return image(bytes), audio(bytes) or embedded(uri, bytes)",
    );
  return JSON.stringify(stringify(value));
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
  if (given === undefined) {
    const value = result.content;
    return { ...rest, resultJson: contentJson(value), structuredContentJson: isPlain(value) ? stringify(value) : "" };
  }
  if (!isPlain(given)) throw new TypeError("structured content is an object");
  return { ...rest, resultJson: contentJson(result.content ?? given), structuredContentJson: stringify(given) };
}

/** @param {ToolResult} result */
function ofError({ content, structured, errorCode, message, suggestion, retryable }) {
  const said = content ?? message ?? structured;
  const error = errorCode || message || suggestion || retryable;
  return {
    isError: true,
    resultJson: contentJson(said),
    structuredContentJson: isPlain(structured) ? stringify(structured) : "",
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
    if (outcome.complaints) {
      const list = outcome.complaints.map((complaint) => `\n- ${complaint}`).join("");
      throw new ResultError(
        `the result of tool ${JSON.stringify(tool.name)} does not fit its own output schema:${list}`,
        { code: "OUTPUT_SCHEMA_MISMATCH" },
      );
    }
    const whole = stringify(output.wraps ? { result: outcome.value } : outcome.value);
    // A client that knows no structured content reads the same as text.
    const mirror =
      content === undefined ? JSON.stringify(output.wraps ? stringify(outcome.value) : whole) : contentJson(content);
    return { resultJson: mirror, structuredContentJson: whole };
  };
  const outcome = output.check(value);
  return outcome instanceof Promise ? outcome.then(finish) : finish(outcome);
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

/**
 * JSON text; bigints become numbers where they fit, else text.
 *
 * @param {unknown} value
 * @returns {string}
 */
function stringify(value) {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (error) {
    try {
      // With a replacer it takes several times as long.
      return JSON.stringify(value, (_, one) =>
        typeof one !== "bigint" ? one : Number.isSafeInteger(Number(one)) ? Number(one) : String(one),
      );
    } catch {
      const { message } = describeError(error);
      throw new ResultError(`the result has no form in JSON: ${message}`, { code: "INVALID_RESULT" });
    }
  }
}
