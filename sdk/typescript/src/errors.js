/**
 * Errors that handlers throw, and those of questions.
 *
 * @module
 */

/**
 * A failure that tells the model the next step.
 *
 * ```js
 * throw new ToolError("there is no user 7", { code: "NOT_FOUND", suggestion: "call list_users for the ids" });
 * ```
 */
export class ToolError extends Error {
  name = "ToolError";

  /**
   * @param {string} message
   * @param {{ code?: string, suggestion?: string, retryable?: boolean, cause?: unknown }} [options] `retryable`: the same
   *   call may succeed later
   */
  constructor(message, { code = "TOOL_ERROR", suggestion = "", retryable = false, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.suggestion = suggestion;
    this.retryable = retryable;
  }
}

/** Ends a task without a result: the work could not be carried out at all. Elsewhere it is like a {@link ToolError}. */
export class TaskError extends ToolError {
  name = "TaskError";
}

/** A question that was not answered: the client cannot answer such questions, or the request that asked has ended. */
export class QuestionError extends ToolError {
  name = "QuestionError";

  /** @param {string} message */
  constructor(message) {
    super(message, { code: "QUESTION_FAILED" });
  }
}

/**
 * The parts of an error on the wire.
 *
 * @param {unknown} error
 */
export function describeError(error) {
  if (error instanceof ToolError) {
    return { errorCode: error.code, message: error.message, suggestion: error.suggestion, retryable: error.retryable };
  }
  const { code, message } = /** @type {{ code?: unknown, message?: unknown }} */ (Object(error));
  const text = typeof message === "string" && message ? message : String(error);
  return { errorCode: typeof code === "string" ? code : "TOOL_ERROR", message: text };
}
