/**
 * A result with all its parts, for handlers that need more than a value.
 *
 * @module
 */

import { checkNames } from "./declare/options.js";

const PARTS = [
  "content",
  "result",
  "structured",
  "structuredContent",
  "enable",
  "enableTools",
  "disable",
  "disableTools",
  "meta",
  "isError",
  "errorCode",
  "message",
  "suggestion",
  "retryable",
];

/**
 * The result of a tool.
 *
 * ```js
 * return new ToolResult({ content: [image(png)], structured: { width: 3 }, enable: ["next_step"] });
 * ```
 */
export class ToolResult {
  /**
   * @param {object} [parts]
   * @param {unknown} [parts.content] as a handler returns it: text, content blocks, or any value
   * @param {unknown} [parts.result] the same as `content`
   * @param {unknown} [parts.structured] the structured content; without `content` its text is the content
   * @param {unknown} [parts.structuredContent] the same as `structured`
   * @param {string[]} [parts.enable] tools to show from now on
   * @param {string[]} [parts.enableTools] the same as `enable`
   * @param {string[]} [parts.disable] tools to hide from now on
   * @param {string[]} [parts.disableTools] the same as `disable`
   * @param {Record<string, unknown>} [parts.meta] the `_meta` of the result
   * @param {boolean} [parts.isError]
   * @param {string} [parts.errorCode] with `isError`, like the three that follow: see {@link ToolError}
   * @param {string} [parts.message]
   * @param {string} [parts.suggestion]
   * @param {boolean} [parts.retryable]
   */
  constructor(parts = {}) {
    checkNames("ToolResult", parts, PARTS);
    this.content = parts.content ?? parts.result;
    this.structured = parts.structured ?? parts.structuredContent;
    this.enable = parts.enable ?? parts.enableTools ?? [];
    this.disable = parts.disable ?? parts.disableTools ?? [];
    this.meta = parts.meta;
    this.isError = parts.isError ?? false;
    this.errorCode = parts.errorCode;
    this.message = parts.message;
    this.suggestion = parts.suggestion;
    this.retryable = parts.retryable;
  }
}
