/**
 * One conversation with a bridge, as a machine: envelopes in, frames out (docs/envelope.md).
 *
 * @module
 */

import { inspect } from "node:util";

import { Calls, sendResult } from "./calls.js";
import { failure } from "./convert.js";
import { RequestContext } from "./context.js";
import { describeError, describeFailure, logError, printError, AskError } from "../errors.js";
import { formOr, stringify } from "../json.js";
import {
  hiddenTools,
  promptDefinitions,
  resourceDefinitions,
  templateDefinitions,
  toolDefinitions,
} from "./definitions.js";
import { stateOf, takeState } from "./handover.js";
import { intercept } from "./intercept.js";
import { complete, getPrompt, readResource } from "./requests.js";
import { Questions } from "./questions.js";
import { Tasks } from "./tasks.js";
import { VERSION } from "../version.js";

/** @import { Registry, Section } from "../registry.js" */
/** @import { Refused } from "../wire/frames.js" */
/** @import { Envelope } from "../wire/message-types.js" */
/** @import { Output } from "./output.js" */

/**
 * @param {string} kind
 * @param {unknown} error
 */
const failedAnswer = (kind, error) =>
  kind === "middlewareInterceptResponse"
    ? { reject: true, rejectReason: describeFailure(error).message }
    : { error: describeFailure(error) };

/**
 * Any value as JSON, or as text where it has no form: a log message never fails the call.
 *
 * @param {unknown} data
 */
function logged(data) {
  try {
    return stringify(data);
  } catch {
    // Only the members without a form are sent as text.
  }
  try {
    return JSON.stringify(data, (_name, value) => formOr(inspect, value)) ?? "null";
  } catch {
    return JSON.stringify(inspect(data));
  }
}

const FEATURES = [
  "elicitation",
  "structured-content",
  "validated-arguments",
  "arguments-match",
  "request-context",
  "ping",
];

/**
 * A request in the log: the name or the URI that its author knows it by.
 *
 * @param {Envelope} envelope
 */
function aboutOf({ kind, message }) {
  const { uri, name, refName, argumentName, middlewareName, toolName } = /** @type {any} */ (message);
  if (kind === "readResourceRequest") return `resource ${JSON.stringify(uri)}`;
  if (kind === "getPromptRequest") return `prompt ${JSON.stringify(name)}`;
  if (kind === "completionRequest") return `completion of ${JSON.stringify(argumentName)} of ${JSON.stringify(refName)}`;
  return `middleware ${JSON.stringify(middlewareName)} of tool ${JSON.stringify(toolName)}`;
}

/**
 * @typedef {object} SessionOptions
 * @property {number} [concurrency] the most concurrent calls; 1024 by default
 * @property {number} [rawAbove] larger fields of results are sent raw, in bytes
 */

/** A session serves one registry. */
export class Session {
  /** The features of the bridge. @type {Set<string>} */
  features = new Set();
  tasks = new Tasks();
  questions;
  #calls = new Calls(this);
  #ready = false;
  #awaitsSkills = false;
  /** The names of middlewares that are not registered yet, and the id that ends the handshake. @type {{ left: string[], id: string } | undefined} */
  #registering;
  /** The tools that were hidden in the last list. @type {Set<string>} */
  #hidden = new Set();
  /** @type {Set<Section>} */
  #changed = new Set();
  #concurrency;
  #stopListening;

  /**
   * @param {Registry} registry
   * @param {Output} output
   * @param {SessionOptions} [options]
   */
  constructor(registry, output, { concurrency = 1024, rawAbove = 65536 } = {}) {
    this.registry = registry;
    this.output = output;
    this.rawAbove = rawAbove;
    this.#concurrency = concurrency;
    this.questions = new Questions(output, this.features);
    this.#stopListening = registry.onChange((section) => this.#onChange(section));
  }

  /** Says who this is. */
  begin() {
    const maxConcurrentCalls = this.#concurrency;
    const { skills } = this.registry;
    skills.isAnnounced = true;
    this.#awaitsSkills = skills.folders.length > 0;
    this.output.send("sdkInfo", {
      name: "protomcp",
      version: VERSION,
      language: "javascript",
      maxConcurrentCalls,
      features: this.registry.handover ? [...FEATURES, "hand-over"] : FEATURES,
      skillFolders: skills.folders,
    });
  }

  /** Ends all calls and questions. */
  end() {
    this.#stopListening();
    this.#calls.end();
    this.questions.fail(undefined, "the bridge has ended");
  }

  /**
   * An error in an answer ends no other call.
   *
   * @param {Envelope} envelope
   */
  envelope(envelope) {
    try {
      this.#dispatch(envelope);
    } catch (error) {
      const { kind, requestId } = envelope;
      printError(`the answer to ${kind} cannot be sent:`, error);
      if (kind === "taskResult") this.result(requestId, failure(error));
    }
  }

  /** @param {Envelope} envelope */
  #dispatch(envelope) {
    const { kind, message, requestId } = envelope;
    switch (kind) {
      case "callTool":
        return this.#calls.begin(envelope, message);
      case "cancel":
        return this.#calls.cancel(message.requestId);
      case "bridgeInfo":
        for (const feature of message.features) this.features.add(feature);
        return this.#noteSkills();
      case "listTools":
        this.#hidden.clear();
        return this.#register(requestId, "");
      case "reload":
        return this.#register("", requestId);
      case "registerMiddlewareResponse":
        return this.#registerNext();
      case "activeTools":
      case "samplingResponse":
      case "listRootsResponse":
      case "elicitationResponse":
        return this.questions.answered(envelope);
      default:
        return this.#request(envelope);
    }
  }

  /** Says once that an older bridge does not read the folders of skills; the oldest ones announce no features. */
  #noteSkills() {
    if (this.#awaitsSkills && !this.features.has("skill-folders"))
      console.error("this pmcp does not serve the skills of a tool file: use a newer one, or pmcp run --skills DIR");
    this.#awaitsSkills = false;
  }

  /** @param {Envelope} envelope */
  #request(envelope) {
    const { kind, message, requestId } = envelope;
    switch (kind) {
      case "ping":
        return this.output.send("pong", {}, { requestId });
      case "middlewareIntercept":
        return this.#answer(envelope, "middlewareInterceptResponse", () => intercept(this.registry, message));
      case "handOver":
        return this.#transfer(requestId, "handOverResponse", async () => {
          await this.#calls.ended();
          return { state: await stateOf(this.registry) };
        });
      case "takeOver":
        return this.#transfer(requestId, "takeOverResponse", async () => {
          await takeState(this.registry, message.state);
          return {};
        });
      case "taskStatus":
        return this.output.send("taskStatusResponse", this.tasks.status(message.taskId), { requestId });
      case "taskResult":
        return this.result(
          requestId,
          this.tasks.take(message.taskId) ?? { isError: true, resultJson: '"the task has no result"' },
        );
      case "taskCancel":
        this.questions.fail(message.taskId, "the task that asks was cancelled");
        return this.output.send("taskStatusResponse", this.tasks.cancel(message.taskId), { requestId });
      case "listResourcesRequest":
        // It is sent after the introduction of a bridge that has one.
        this.#noteSkills();
        return this.output.send(
          "resourceListResponse",
          { resources: resourceDefinitions(this.registry, console.error) },
          { requestId },
        );
      case "listResourceTemplatesRequest":
        return this.output.send(
          "resourceTemplateListResponse",
          { templates: templateDefinitions(this.registry, console.error) },
          { requestId },
        );
      case "listPromptsRequest":
        return this.output.send(
          "promptListResponse",
          { prompts: promptDefinitions(this.registry, console.error) },
          { requestId },
        );
      case "readResourceRequest":
        return this.#answer(envelope, "readResourceResponse", (context) =>
          readResource(this.registry, message.uri, context),
        );
      case "getPromptRequest":
        return this.#answer(envelope, "getPromptResponse", (context) => getPrompt(this.registry, message, context));
      case "completionRequest":
        return this.#answer(envelope, "completionResponse", (context) => complete(this.registry, message, context));
    }
  }

  /**
   * Answers a request other than a call; an error becomes the error of the answer.
   *
   * @param {Envelope} envelope
   * @param {"middlewareInterceptResponse" | "readResourceResponse" | "getPromptResponse" | "completionResponse"} kind
   * @param {(context: RequestContext) => any} work
   */
  async #answer(envelope, kind, work) {
    const { requestId } = envelope;
    let answer;
    try {
      answer = await work(new RequestContext(this, envelope));
    } catch (error) {
      logError(aboutOf(envelope), error);
      answer = failedAnswer(kind, error);
    }
    this.questions.fail(requestId, "the request that asks has ended");
    try {
      this.output.send(kind, answer, { requestId });
    } catch (error) {
      logError(`the answer of ${aboutOf(envelope)}`, error);
      this.output.send(kind, failedAnswer(kind, error), { requestId });
    }
  }

  /**
   * Hands a state over, or takes one over.
   *
   * @param {string} requestId
   * @param {"handOverResponse" | "takeOverResponse"} kind
   * @param {() => Promise<{ state?: Uint8Array }>} work
   */
  async #transfer(requestId, kind, work) {
    let answer;
    try {
      answer = await work();
    } catch (error) {
      logError(`the function that ${kind === "handOverResponse" ? "gives" : "takes"} the state`, error);
      answer = { error: describeFailure(error).message };
    }
    this.output.send(kind, answer, { requestId });
  }

  /**
   * The handshake. Its last message has the id of a reload, if there was one.
   *
   * @param {string} listId
   * @param {string} endId
   */
  #register(listId, endId) {
    try {
      promptDefinitions(this.registry);
      resourceDefinitions(this.registry);
      templateDefinitions(this.registry);
      this.output.send("toolList", { tools: toolDefinitions(this.registry) }, { requestId: listId });
    } catch (error) {
      const { message } = describeError(error);
      console.error(message);
      return this.output.send("reloadResponse", { success: false, error: message }, { requestId: endId });
    }
    this.#registering = { left: [...this.registry.middleware.keys()], id: endId };
    this.#registerNext();
  }

  #registerNext() {
    if (!this.#registering) return;
    const { left, id } = this.#registering;
    const name = left.shift();
    if (name !== undefined)
      return this.output.send("registerMiddleware", { name, priority: this.registry.middleware.get(name)?.priority });
    this.#registering = undefined;
    this.#ready = true;
    this.output.send("reloadResponse", { success: true }, { requestId: id });
    // The lists of the bridge survive a reload, and a session may have shown a hidden tool.
    const hidden = hiddenTools(this.registry);
    const toolNames = hidden.filter((name) => !this.#hidden.has(name));
    this.#hidden = new Set(hidden);
    if (toolNames.length) this.output.send("disableTools", { toolNames });
  }

  /** @param {Section} section */
  #onChange(section) {
    this.#calls.forgetNames();
    if (!this.#ready) return;
    if (!this.#changed.size) queueMicrotask(() => this.#announce());
    this.#changed.add(section);
  }

  #announce() {
    const changed = [...this.#changed];
    this.#changed.clear();
    try {
      if (changed.includes("tools")) this.output.send("toolList", { tools: toolDefinitions(this.registry) });
    } catch (error) {
      // The list stays as it was.
      console.error(describeError(error).message);
    }
    if (!this.features.has("list-changed")) return;
    if (changed.includes("prompts")) this.output.send("promptListChanged", {});
    if (changed.includes("resources")) this.output.send("resourceListChanged", {});
  }

  /**
   * A frame that could not be read: its request has no other answer.
   *
   * @param {Refused} refused
   */
  refused({ reason, requestId, kind, size }) {
    const text = `a message of ${size} bytes from the bridge is ${reason.replaceAll("_", " ")}`;
    console.error(text);
    if (kind === "callTool" && requestId) this.result(requestId, { isError: true, resultJson: JSON.stringify(text) });
  }

  /** The process sends raw payloads, and never gets any. */
  raw() {
    console.error("the bridge has sent a raw payload");
  }

  /**
   * @param {string} requestId
   * @param {import("./convert.js").WireResult} wire
   */
  result(requestId, wire) {
    // The caller may call a tool that its call has added.
    if (this.#changed.size) this.#announce();
    sendResult(this, requestId, wire);
  }

  /**
   * @param {string} level
   * @param {unknown} data
   * @param {string} [logger]
   * @param {string} [request]
   */
  log(level, data, logger, request = "") {
    // Many write `log.info(text, data)`.
    const isNamed = logger === undefined || typeof logger === "string";
    const dataJson = logged(isNamed ? data : { message: data, data: logger });
    this.output.report("log", { level, logger: isNamed ? logger : undefined, dataJson }, { forCall: this.features.has("for-call") ? request : "" });
  }

  /** @param {string} id */
  pageCompleted(id) {
    if (this.features.has("elicitation-complete")) this.output.send("elicitationComplete", { elicitationId: id });
  }

  /** @param {string} uri */
  resourceChanged(uri) {
    this.output.send("resourceChanged", { uri });
  }

  /**
   * @param {string} feature
   * @param {string} what
   */
  needs(feature, what) {
    if (!this.features.has(feature)) throw new AskError(`this bridge does not know ${what}`);
  }
}
