/**
 * Middleware of the bridge: docs/envelope.md, "Middleware".
 *
 * @module
 */

import { describeError } from "../errors.js";
import { contentJson } from "./convert.js";
import { parseObject } from "./context.js";

/** @import { Registry } from "../registry.js" */
/** @import { Like, MiddlewareInterceptRequest, MiddlewareInterceptResponse } from "../wire/message-types.js" */

/**
 * @param {Registry} registry
 * @param {MiddlewareInterceptRequest} request
 * @returns {Promise<Like<MiddlewareInterceptResponse>>}
 */
export async function intercept(registry, request) {
  const options = registry.middleware.get(request.middlewareName);
  const decide = request.phase === "after" ? options?.after : options?.before;
  if (!decide) return {};
  const decision = await decide.call(options, {
    tool: request.toolName,
    args: parseObject(request.argumentsJson),
    content: parseContent(request.resultJson),
    isError: request.isError,
  });
  if (!decision) return {};
  const { args, content, reject } = decision;
  return {
    argumentsJson: args && JSON.stringify(args),
    resultJson: content === undefined ? "" : contentJson(content),
    // `condition && "reason"` is false, or another value of this kind, for the calls that may go on.
    reject: reject === "" || Boolean(reject),
    rejectReason: reasonOf(reject),
  };
}

/**
 * The reason of a rejection, which is a text, an error, or `true` for a call without one.
 *
 * @param {unknown} reject
 */
function reasonOf(reject) {
  if (!reject || reject === true) return "";
  return typeof reject === "string" ? reject : describeError(reject).message;
}

/** @param {string} json */
function parseContent(json) {
  try {
    return json ? JSON.parse(json) : undefined;
  } catch {
    return json;
  }
}
