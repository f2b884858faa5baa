/**
 * Errors that handlers throw, and the errors of questions.
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

/**
 * The failure of a request whose arguments do not fit.
 *
 * @param {string} about
 * @param {string[]} complaints
 */
export function invalidArguments(about, complaints) {
  const list = complaints.map((complaint) => `\n- ${complaint}`).join("");
  return new ToolError(`invalid arguments for ${about}:${list}`, { code: "INVALID_ARGUMENTS" });
}

/** Ends a task without a result: the work could not be carried out at all. Elsewhere it is like a {@link ToolError}. */
export class TaskError extends ToolError {
  name = "TaskError";
}

/** A question that was not answered: the client cannot answer such questions, or the request that asked has ended. */
export class AskError extends ToolError {
  name = "AskError";

  /** @param {string} message */
  constructor(message) {
    super(message, { code: "QUESTION_FAILED" });
  }
}

/** A handler has returned something else than it promised, or what has no form in JSON: a mistake of the author. */
export class ResultError extends ToolError {
  name = "ResultError";
}

/**
 * Writes a value that was thrown to the log. Its members may throw, and so may its own form for the log.
 *
 * @param {string} text
 * @param {unknown} error
 */
export function printError(text, error) {
  try {
    console.error(text, error);
  } catch {
    console.error(text, describeError(error).message);
  }
}

const HERE = new URL(".", import.meta.url).href;

/**
 * Writes an error to the log, where its author looks for the place: the frames of this package are left out. An error that
 * is meant for the caller alone is not written.
 *
 * @param {string} about
 * @param {unknown} error
 */
export function logError(about, error) {
  try {
    if (error instanceof ResultError) console.error(`${about} failed: ${error.message}`);
    else if (!(error instanceof ToolError)) logUnexpected(about, error);
  } catch {
    printError(`${about} failed:`, error);
  }
}

/**
 * @param {string} about
 * @param {unknown} error
 */
function logUnexpected(about, error) {
  if (!(error instanceof Error) || typeof error.stack !== "string") return console.error(`${about} failed:`, error);
  const { stack } = error;
  const lines = stack.split("\n");
  const first = lines.findIndex((line) => line.startsWith("    at ") && line.includes(HERE));
  try {
    if (first > 0) error.stack = lines.slice(0, first).join("\n");
  } catch {
    // A frozen one.
  }
  console.error(`${about} failed:`, error);
  if (first > 0 && !Object.isFrozen(error)) error.stack = stack;
}

/**
 * The parts of an error that fails a request: the message of an unexpected one begins with its type.
 *
 * @param {unknown} error
 */
export function describeFailure(error) {
  const described = describeError(error);
  const name = typeName(error);
  const { message } = described;
  return !name || message.startsWith(name) ? described : { ...described, message: `${name}: ${message}` };
}

/**
 * The type of an unexpected error, if it says more than that it is one.
 *
 * @param {unknown} error
 */
function typeName(error) {
  try {
    if (!(error instanceof Error) || error instanceof ToolError) return "";
    const name = error.name === "Error" ? error.constructor.name : error.name;
    return typeof name === "string" && name !== "Error" ? name : "";
  } catch {
    return "";
  }
}

/** The most characters of a value that was thrown in place of an error. */
const MAX_THROWN = 1000;

const WITHOUT_TEXT = "the tool has thrown an object without a text";

/**
 * The text of a value that was thrown without a message: an object without a text is shown as JSON.
 *
 * @param {unknown} value
 */
function textOfThrown(value) {
  if (typeof value !== "object" || value === null || value instanceof Error) return String(value);
  const { toString } = value;
  const isOwn = typeof toString === "function" && toString !== Object.prototype.toString;
  const text = isOwn && !Array.isArray(value) ? String(value) : JSON.stringify(value);
  if (text === "{}") return WITHOUT_TEXT;
  return text.length > MAX_THROWN ? `${text.slice(0, MAX_THROWN)}…` : text;
}

/**
 * The parts of an error on the wire.
 *
 * @param {unknown} error
 */
export function describeError(error) {
  try {
    if (error instanceof ToolError) {
      const { code, message, suggestion, retryable } = error;
      return {
        errorCode: String(code),
        message: String(message),
        suggestion: String(suggestion),
        retryable: Boolean(retryable),
      };
    }
    const { code, message } = /** @type {{ code?: unknown, message?: unknown }} */ (Object(error));
    const text = typeof message === "string" && message ? message : textOfThrown(error);
    return { errorCode: typeof code === "string" ? code : "TOOL_ERROR", message: text };
  } catch {
    return { errorCode: "TOOL_ERROR", message: WITHOUT_TEXT };
  }
}
