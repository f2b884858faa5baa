/**
 * Calls of tools: from the arguments to the result on the wire.
 *
 * @module
 */

import { Buffer } from "node:buffer";

import { invalidArguments, logError, printError, TaskError, ToolError } from "../errors.js";
import { infinities } from "../schema/check.js";
import { nearest } from "../schema/nearest.js";
import { CallContext, CANCELLED } from "./context.js";
import { failure, toWire } from "./convert.js";
import { callHandler } from "../values.js";
import { compileTool } from "./definitions.js";
import { Events } from "./events.js";

/** @import { CallToolRequest, Envelope } from "../wire/message-types.js" */
/** @import { ToolEntry } from "../registry.js" */
/** @import { Outcome } from "../schema/schema.js" */
/** @import { LocalMiddleware } from "../types.js" */
/** @import { WireResult } from "./convert.js" */
/** @import { Session } from "./session.js" */

/** A call that may become a task does so after this time. */
const PATIENCE_MS = 50;

/** The calls that run. */
export class Calls {
  #session;
  /** @type {Map<string, CallContext>} */
  #running = new Map();
  /** @type {Map<string, ToolEntry>} */
  #byName = new Map();
  /** Wait for the end of the last call. @type {(() => void)[]} */
  #waiting = [];

  /** @param {Session} session */
  constructor(session) {
    this.#session = session;
  }

  /** The list of tools has changed. */
  forgetNames() {
    this.#byName.clear();
  }

  /**
   * @param {Envelope} envelope
   * @param {CallToolRequest} request
   */
  begin(envelope, request) {
    const tool = this.#find(request.name);
    if (!tool) return this.#session.result(envelope.requestId, this.#unknown(request.name));
    const call = new CallContext(this.#session, envelope, tool);
    this.#running.set(call.id, call);
    const task = tool.options.task ?? tool.options.taskSupport;
    if (task) this.#mayBecomeTask(call, task === "required" ? 0 : PATIENCE_MS);
    const { ambient, sidecars, sinks } = this.#session.registry;
    if (sinks.length) call._events = new Events(sinks, call.tool, request.argumentsJson);
    const invoke = () => this.#invoke(tool, request, call);
    const work = sidecars.every(({ isReady }) => isReady)
      ? invoke
      : () => Promise.all(sidecars.map((sidecar) => sidecar.ready())).then(invoke);
    try {
      const value = ambient ? ambient(call, work) : work();
      if (isPromise(value))
        value.then(
          (value) => this.#succeed(call, tool, value),
          (error) => this.#fail(call, error),
        );
      else this.#succeed(call, tool, value);
    } catch (error) {
      this.#fail(call, error);
    }
  }

  /** @param {string} name */
  #find(name) {
    if (!this.#byName.size) for (const tool of this.#session.registry.tools) this.#byName.set(tool.name, tool);
    return this.#byName.get(name);
  }

  /**
   * @param {string} name
   * @returns {WireResult}
   */
  #unknown(name) {
    const near = nearest(name, this.#byName.keys());
    const suggestion = near ? `did you mean ${JSON.stringify(near)}?` : "";
    return failure(new ToolError(`there is no tool ${JSON.stringify(name)}`, { code: "NOT_FOUND", suggestion }));
  }

  /**
   * @param {ToolEntry} tool
   * @param {CallToolRequest} request
   * @param {CallContext} call
   */
  #invoke(tool, { argumentsJson, argumentsMatch }, call) {
    if (!tool.input) compileTool(tool);
    const input = /** @type {NonNullable<ToolEntry["input"]>} */ (tool.input);
    const args = JSON.parse(argumentsJson || "{}");
    const infinite = infinities(argumentsJson, args);
    const outcome = infinite.length ? { complaints: infinite } : input.check(args, { matches: argumentsMatch });
    return outcome instanceof Promise
      ? outcome.then((outcome) => this.#handle(tool, outcome, call))
      : this.#handle(tool, outcome, call);
  }

  /**
   * @param {ToolEntry} tool
   * @param {Outcome} outcome
   * @param {CallContext} call
   */
  #handle(tool, outcome, call) {
    if (outcome.complaints) throw invalidArguments(`tool ${JSON.stringify(tool.name)}`, outcome.complaints);
    const { local } = this.#session.registry;
    const { value } = /** @type {any} */ (outcome);
    return local.length ? wrapped(local, tool, value, call) : callHandler(tool.options, value, call);
  }

  /**
   * @param {CallContext} call
   * @param {ToolEntry} tool
   * @param {unknown} value
   */
  #succeed(call, tool, value) {
    let wire;
    try {
      wire = toWire(tool, value);
    } catch (error) {
      return this.#fail(call, error);
    }
    const end = (/** @type {WireResult} */ wire) => {
      if (wire.isError) call._events?.report("error", { error: value });
      else call._events?.report("success", { result: value });
      this.#end(call, wire);
    };
    if (wire instanceof Promise) wire.then(end, (error) => this.#fail(call, error));
    else end(wire);
  }

  /**
   * @param {CallContext} call
   * @param {unknown} error
   */
  #fail(call, error) {
    call._events?.report("error", { error });
    if (!call.cancelled) logError(`tool ${JSON.stringify(call.tool)}`, error);
    this.#end(call, failure(error), taskMessage(error));
  }

  /**
   * @param {CallContext} call
   * @param {WireResult} wire
   * @param {string} [failed] the reason for which a task has no result
   */
  #end(call, wire, failed) {
    this.#running.delete(call.id);
    if (!this.#running.size) for (const resolve of this.#waiting.splice(0)) resolve();
    this.#session.questions.fail(call.id, "the call that asks has ended");
    call._begin = undefined;
    if (call.task) return this.#session.tasks.end(call.task, wire, failed);
    // Answers to cancelled calls are ignored. They show that the handler has ended.
    if (call.cancelled) return this.#session.result(call.id, failure(new ToolError(CANCELLED)));
    try {
      this.#session.result(call.id, wire);
    } catch (error) {
      printError(`the result of tool ${JSON.stringify(call.tool)} cannot be sent:`, error);
      this.#session.result(call.id, failure(error));
    }
  }

  /**
   * Begins a task when the handler asks for it, or after some time in which it did not wait for an answer: a question
   * before the beginning belongs to the call.
   *
   * @param {CallContext} call
   * @param {number} patience in milliseconds
   */
  #mayBecomeTask(call, patience) {
    const { output, tasks, questions } = this.#session;
    call._begin = () => {
      if (call.task || call.cancelled) return;
      call.task = call.id;
      tasks.begin(call);
      output.send("createTask", { taskId: call.id }, { requestId: call.id });
    };
    const later = () => {
      if (!this.#running.has(call.id) || call.task) return;
      if (questions.isOpen(call.id)) setTimeout(later, PATIENCE_MS).unref();
      else call._begin?.();
    };
    setTimeout(later, patience).unref();
  }

  /** @param {string} id */
  cancel(id) {
    const call = this.#running.get(id);
    // A call that has become a task has a result to keep, and `taskCancel` ends it.
    if (!call || call.task) return;
    call._cancel();
    this.#session.questions.fail(id, "the call that asks was cancelled");
  }

  /**
   * Waits until no handler runs, also of a call that was cancelled.
   *
   * @returns {Promise<void>}
   */
  async ended() {
    if (this.#running.size) await new Promise((resolve) => this.#waiting.push(() => resolve(undefined)));
  }

  /** Cancels all calls. */
  end() {
    for (const call of this.#running.values()) call._cancel();
  }
}

/**
 * @param {LocalMiddleware[]} local
 * @param {ToolEntry} tool
 * @param {unknown} args
 * @param {CallContext} context
 */
function wrapped(local, tool, args, context) {
  const call = { tool: tool.name, args, context };
  /** @type {(index: number) => Promise<unknown>} */
  const run = async (index) => {
    const wrap = local[index];
    return wrap ? wrap(call, () => run(index + 1)) : callHandler(tool.options, call.args, context);
  };
  return run(0);
}

/**
 * The encodings of a large field (docs/envelope.md, "Large results"): in the message, or behind a header.
 *
 * @param {Session} session
 * @param {string} requestId
 * @param {WireResult} wire
 */
export function sendResult({ output, features, rawAbove }, requestId, wire) {
  const { resultJson = "", structuredContentJson = "", ...rest } = wire;
  /** @type {{ fieldName: string, payload: Buffer }[]} */
  const large = [];
  for (const [fieldName, text] of /** @type {const} */ ([
    ["result_json", resultJson],
    ["structured_content_json", structuredContentJson],
  ])) {
    // UTF-8 has at most three bytes for each unit of UTF-16.
    if (text && text.length * 3 > rawAbove && Buffer.byteLength(text) > rawAbove)
      large.push({ fieldName, payload: Buffer.from(text) });
  }
  const isWhole =
    large.length === 1 &&
    !structuredContentJson &&
    !Object.values(rest).some((value) => value && (!Array.isArray(value) || value.length));
  if (!large.length || (!isWhole && !features.has("raw-with-result")))
    return output.send("callResult", wire, { requestId });
  for (const { fieldName, payload } of large) output.raw({ requestId, fieldName, followedByResult: !isWhole }, payload);
  if (isWhole) return;
  const isLarge = (/** @type {string} */ name) => large.some(({ fieldName }) => fieldName === name);
  output.send(
    "callResult",
    {
      ...rest,
      resultJson: isLarge("result_json") ? "" : resultJson,
      structuredContentJson: isLarge("structured_content_json") ? "" : structuredContentJson,
    },
    { requestId },
  );
}

/**
 * @param {unknown} value
 * @returns {value is Promise<unknown>}
 */
const isPromise = (value) => typeof (/** @type {any} */ (value)?.then) === "function";

/**
 * The text for a task that has failed, if the handler has one for it.
 *
 * @param {unknown} error
 */
function taskMessage(error) {
  try {
    return error instanceof TaskError ? String(error.message) : undefined;
  } catch {
    // A proxy that is revoked.
    return undefined;
  }
}
