/**
 * Calls what a file declares without `pmcp`, in tests: the declarations of this process, over the real messages, with a
 * client that answers questions as the test says.
 *
 * ```js
 * import "./tools.js";
 * import { connect } from "protomcp/testing";
 *
 * const client = await connect({ ask: () => ({ action: "accept", content: { sure: true } }) });
 * assert.equal((await client.call("add", { a: 1, b: 2 })).text, "3");
 * ```
 *
 * @module
 */

import { Buffer } from "node:buffer";

import { checkNames } from "./declare/options.js";
import { describeFailure } from "./errors.js";
import { quote } from "./schema/check.js";
import { textOf } from "./content.js";
import { Output } from "./session/output.js";
import { Session } from "./session/session.js";
import { FrameReader } from "./wire/frames.js";
import { registry } from "./registry.js";

/** @import { Content, Level, Root } from "./types.js" */
/** @import { CallToolResponse, Envelope, Kind, Like, Messages } from "./wire/message-types.js" */

/**
 * The client of a test.
 *
 * @typedef {object} ClientOptions
 * @property {(question: { message: string, schema: any, url: string, key: string }) => { action: string, content?: unknown } | Promise<any>} [ask]
 *   answers forms and pages: the action is "accept", "decline" or "cancel"
 * @property {(request: { messages: any[], maxTokens: number, systemPrompt: string, key: string }) => string | Promise<string>} [sample]
 *   answers for the model
 * @property {Root[]} [roots]
 * @property {Registry} [registry] other declarations than the ones of this process
 * @property {string[]} [features] the features of the bridge; all by default
 */

/** @import { Registry } from "./registry.js" */

/**
 * The result of a call.
 *
 * @typedef {object} CallResult
 * @property {Content[]} content
 * @property {string} text the texts of the content
 * @property {any} structured the structured content
 * @property {boolean} isError
 * @property {{ code: string, message: string, suggestion: string, retryable: boolean } | undefined} error
 * @property {any} meta
 * @property {string[]} enabled
 * @property {string[]} disabled
 */

/**
 * Settings of a call.
 *
 * @typedef {object} CallOptions
 * @property {AbortSignal} [signal] cancels it
 * @property {(progress: { progress: number, total: number, message: string }) => void} [onProgress]
 * @property {Record<string, unknown>} [meta] the `_meta` of the request
 * @property {any} [context] the client, the user and so on, as on the wire
 * @property {boolean} [argumentsMatch] the client says, as \`pmcp\` does, that it has compared the arguments with the schema
 */

const ALL_FEATURES = [
  "elicitation",
  "elicitation-complete",
  "metadata",
  "raw-with-result",
  "list-changed",
  "reply-errors",
  "for-call",
  "for-request",
  "question-key",
  "question-group",
  "reply-metadata",
  "sampling-params",
  "request-context",
  "ping",
  "hand-over",
  "skill-folders",
];

/**
 * Runs the start hooks, and connects.
 *
 * @param {ClientOptions} [options]
 */
export async function connect(options = {}) {
  checkNames("connect", options, ["ask", "sample", "roots", "registry", "features"]);
  const client = new TestClient(options);
  await client.open();
  return client;
}

/** A client without a process around it. */
class TestClient {
  /** The log messages so far. @type {{ level: Level, data: unknown, logger: string }[]} */
  logs = [];
  /** The URIs of resources that have changed so far. @type {string[]} */
  changed = [];
  /** The number of answers to calls that were cancelled: each shows that a handler has ended. */
  late = 0;
  /** The names of the tools that are shown. @type {Set<string>} */
  shown = new Set();
  /** The `_meta` of the last answer to `read`, `prompt` or `complete`. @type {any} */
  replyMeta;
  #options;
  #registry;
  #session;
  #toSession;
  #last = 0;
  /** @type {Map<string, { resolve: (envelope: any) => void, reject: (error: Error) => void, onProgress?: CallOptions["onProgress"], raw: any }>} */
  #waiting = new Map();
  /** @type {any[]} */
  #tools = [];

  /** @param {ClientOptions} options */
  constructor(options) {
    this.#options = options;
    this.#registry = options.registry ?? registry;
    const fromSession = new FrameReader({
      envelope: (envelope) => void this.#receive(envelope),
      raw: (header, payload) => {
        const waiting = this.#waiting.get(header.requestId);
        if (!waiting) return;
        waiting.raw[header.fieldName === "result_json" ? "resultJson" : "structuredContentJson"] = payload.toString();
        if (!header.followedByResult) this.#settle(header.requestId, { kind: "callResult", message: {} });
      },
      refused: ({ reason }) => {
        throw new Error(`the session has sent a frame that is ${reason}`);
      },
    });
    this.#session = new Session(this.#registry, new Output((bytes) => fromSession.feed(bytes)));
    const reader = new FrameReader(this.#session);
    this.#toSession = new Output((bytes) => reader.feed(bytes));
  }

  /** The handshake. */
  async open() {
    const names = [...this.#registry.tools, ...this.#registry.prompts].find(({ name }) => !name);
    if (names)
      throw new Error(
        "a tool or prompt without a name is named at the start of a process: give it a name, or nameFromExports",
      );
    await this.#registry.start();
    this.#session.begin();
    this.#send("bridgeInfo", { name: "test", features: this.#options.features ?? ALL_FEATURES }, "");
    const list = await this.#request("listTools", {});
    if (list.kind === "reloadResponse") throw new Error(list.message.error);
  }

  /** Runs the stop hooks, and ends all calls. */
  async close() {
    this.#session.end();
    const [error] = await this.#registry.stop();
    if (error) throw error;
  }

  /** The tools that are shown. */
  get tools() {
    return this.#tools
      .filter(({ name }) => this.shown.has(name))
      .map((tool) => ({
        name: tool.name,
        title: tool.title,
        description: tool.description,
        inputSchema: parse(tool.inputSchemaJson),
        outputSchema: parse(tool.outputSchemaJson),
        annotations: parse(tool.annotationsJson),
        icons: parse(tool.iconsJson),
        meta: parse(tool.metadataJson),
        task: tool.taskRequired ? "required" : tool.taskSupport ? "optional" : undefined,
      }));
  }

  /**
   * Calls a tool. Errors of the tool are results; `signal` rejects.
   *
   * @param {string} name
   * @param {Record<string, unknown>} [args]
   * @param {CallOptions} [options]
   * @returns {Promise<CallResult>}
   */
  async call(name, args = {}, { signal, onProgress, meta, context, argumentsMatch } = {}) {
    const metadataJson = meta && JSON.stringify(meta);
    const request = { name, argumentsJson: JSON.stringify(args), metadataJson, argumentsMatch };
    let answer = await this.#request("callTool", request, { signal, onProgress, context });
    if (answer.kind === "createTask") answer = await this.#task(answer.message.taskId);
    return resultOf(answer.message, answer.raw);
  }

  /** @param {string} taskId */
  async #task(taskId) {
    for (;;) {
      const { message } = await this.#request("taskStatus", { taskId });
      if (message.state === "completed") return this.#request("taskResult", { taskId });
      if (message.state !== "running") throw new Error(`the task is ${message.state}: ${message.message}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** The resources that are declared. */
  async resources() {
    return (await this.#request("listResourcesRequest", {})).message.resources;
  }

  /** The prompts that are declared. */
  async prompts() {
    return (await this.#request("listPromptsRequest", {})).message.prompts;
  }

  /**
   * Reads a resource.
   *
   * @param {string} uri
   * @returns {Promise<{ uri: string, mimeType: string, text: string, blob: Uint8Array }[]>}
   */
  async read(uri) {
    return this.#noteMeta((await this.#request("readResourceRequest", { uri })).message).contents;
  }

  /**
   * Gets a prompt.
   *
   * @param {string} name
   * @param {Record<string, string>} [args]
   */
  async prompt(name, args = {}) {
    const { message } = await this.#request("getPromptRequest", { name, argumentsJson: JSON.stringify(args) });
    const { description, messages } = this.#noteMeta(message);
    const read = (/** @type {any} */ { role, contentJson }) => ({ role, content: JSON.parse(contentJson) });
    const meta = message.metadataJson ? { meta: parse(message.metadataJson) } : {};
    return { description, messages: messages.map(read), ...meta };
  }

  /**
   * Completes an argument of a prompt, or a variable of a template.
   *
   * @param {"ref/prompt" | "ref/resource"} refType
   * @param {string} refName
   * @param {string} argumentName
   * @param {string} argumentValue
   * @param {Record<string, string>} [settled]
   * @returns {Promise<string[]>}
   */
  async complete(refType, refName, argumentName, argumentValue, settled = {}) {
    const request = { refType, refName, argumentName, argumentValue, contextJson: JSON.stringify(settled) };
    return this.#noteMeta((await this.#request("completionRequest", request)).message).values;
  }

  /**
   * The state that a reload would hand over; `undefined` if there is none.
   *
   * @returns {Promise<any>}
   */
  async handOver() {
    const { message } = await this.#request("handOver", {});
    if (message.error) throw new Error(message.error);
    return parse(Buffer.from(message.state).toString());
  }

  /**
   * Gives the process the state of one before.
   *
   * @param {unknown} state
   */
  async takeOver(state) {
    const { message } = await this.#request("takeOver", { state: Buffer.from(JSON.stringify(state)) });
    if (message.error) throw new Error(message.error);
  }

  /** Waits for a sign of life, which a process gives also while handlers run. */
  async ping() {
    await this.#request("ping", {});
  }

  /** @param {any} message */
  #noteMeta(message) {
    this.replyMeta = parse(message.metadataJson);
    return unlessError(message);
  }

  /**
   * @template {Kind} K
   * @param {K} kind
   * @param {Like<Messages[K]>} message
   * @param {string} requestId
   * @param {any} [rest]
   */
  #send(kind, message, requestId, rest) {
    this.#toSession.send(kind, message, { requestId, ...rest });
  }

  /**
   * @template {Kind} K
   * @param {K} kind
   * @param {any} message
   * @param {CallOptions} [options]
   * @returns {Promise<any>}
   */
  #request(kind, message, { signal, onProgress, context } = {}) {
    const id = `req-${this.#last++}`;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, onProgress, raw: {} });
      this.#send(kind, onProgress ? { ...message, progressToken: id } : message, id, { context });
      const cancel = () => {
        this.#waiting.delete(id);
        this.#send("cancel", { requestId: id }, "");
        reject(signal?.reason);
      };
      if (signal?.aborted) cancel();
      else signal?.addEventListener("abort", cancel, { once: true });
    });
  }

  /**
   * @param {string} id
   * @param {any} envelope
   */
  #settle(id, envelope) {
    const waiting = this.#waiting.get(id);
    if (!waiting) this.late++;
    this.#waiting.delete(id);
    waiting?.resolve({ ...envelope, raw: waiting.raw });
  }

  /** @param {any[]} tools */
  #setTools(tools) {
    const known = new Set(this.#tools.map(({ name }) => name));
    for (const { name } of tools) if (!known.has(name)) this.shown.add(name);
    this.#tools = tools;
  }

  /** @param {Envelope} envelope */
  async #receive(envelope) {
    const { kind, message, requestId } = envelope;
    switch (kind) {
      case "log":
        this.logs.push({
          level: /** @type {Level} */ (message.level),
          data: parse(message.dataJson),
          logger: message.logger,
        });
        return;
      case "progress":
        this.#waiting
          .get(message.progressToken)
          ?.onProgress?.({
            progress: Number(message.progress),
            total: Number(message.total),
            message: message.message,
          });
        return;
      case "resourceChanged":
        this.changed.push(message.uri);
        return;
      case "toolList":
        this.#setTools(message.tools);
        break;
      case "registerMiddleware":
        return this.#send("registerMiddlewareResponse", { success: true }, "");
      case "reloadResponse":
        if (!message.success) for (const id of this.#waiting.keys()) this.#settle(id, envelope);
        return;
      case "enableTools":
      case "disableTools":
      case "setAllowed":
      case "setBlocked":
      case "getActiveTools":
      case "batch":
        this.#changeList(kind, message);
        return this.#send("activeTools", { toolNames: [...this.shown].sort() }, requestId);
      case "elicitationRequest":
      case "samplingRequest":
      case "listRootsRequest":
        return this.#answer(envelope);
    }
    if (requestId) this.#settle(requestId, envelope);
  }

  /**
   * @param {string} kind
   * @param {any} message
   */
  #changeList(kind, message) {
    const { toolNames = [], enable = [], disable = [], allow = [], block = [] } = message;
    const all = this.#tools.map(({ name }) => name);
    const only = kind === "setAllowed" ? toolNames : allow;
    const without = kind === "setBlocked" ? toolNames : block;
    if (only.length) this.shown = new Set(all.filter((name) => only.includes(name)));
    if (without.length) this.shown = new Set(all.filter((name) => !without.includes(name)));
    for (const name of kind === "enableTools" ? toolNames : enable) this.shown.add(name);
    for (const name of kind === "disableTools" ? toolNames : disable) this.shown.delete(name);
  }

  /**
   * Answers a question; the error of a function of the test fails it.
   *
   * @param {any} envelope
   */
  async #answer({ kind, message, requestId, questionKey }) {
    if (kind === "listRootsRequest") return this.#answerRoots(requestId);
    const isForm = kind === "elicitationRequest";
    let answer;
    try {
      answer = isForm ? await this.#askUser(message, questionKey) : await this.#askModel(message, questionKey);
    } catch (error) {
      answer = { error: describeFailure(error).message };
    }
    this.#send(isForm ? "elicitationResponse" : "samplingResponse", answer, requestId);
  }

  /** @param {string} requestId */
  #answerRoots(requestId) {
    const { roots } = this.#options;
    const error = { errorCode: "NO_ROOTS", message: "the client has no roots" };
    this.#send("listRootsResponse", roots ? { roots } : { error }, requestId);
  }

  /**
   * @param {any} message
   * @param {string} key
   */
  async #askUser({ message, requestedSchemaJson, url }, key) {
    const { ask } = this.#options;
    if (!ask) return { error: "the client cannot ask its user" };
    const answer = await ask({ message, schema: parse(requestedSchemaJson), url, key });
    const { action, content } = Object(answer);
    if (!["accept", "decline", "cancel"].includes(action))
      throw new TypeError(`ask has answered ${quote(answer)}: return { action: "accept", content: … }, or another action`);
    return { action, contentJson: content && JSON.stringify(content) };
  }

  /**
   * @param {any} message
   * @param {string} key
   */
  async #askModel({ messagesJson, maxTokens, systemPrompt }, key) {
    const { sample } = this.#options;
    if (!sample) return { error: "the client has no model" };
    const text = await sample({ messages: parse(messagesJson), maxTokens, systemPrompt, key });
    if (typeof text !== "string") throw new TypeError(`sample has answered ${quote(text)}: return a text`);
    const contentJson = JSON.stringify({ type: "text", text });
    return { role: "assistant", contentJson, model: "test", stopReason: "endTurn" };
  }
}

/**
 * @param {CallToolResponse} message
 * @param {any} raw
 * @returns {CallResult}
 */
function resultOf(message, raw) {
  const given = parse(raw.resultJson ?? message.resultJson);
  const content =
    given === undefined
      ? []
      : [given].flat().map((part) => (typeof part === "string" ? { type: "text", text: part } : part));
  const { error } = message;
  return {
    content,
    text: textOf(content),
    structured: parse(raw.structuredContentJson ?? message.structuredContentJson),
    isError: message.isError ?? false,
    error: error && {
      code: error.errorCode,
      message: error.message,
      suggestion: error.suggestion,
      retryable: error.retryable,
    },
    meta: parse(message.metadataJson),
    enabled: message.enableTools ?? [],
    disabled: message.disableTools ?? [],
  };
}

/** @param {any} message */
function unlessError(message) {
  if (message.error) throw new Error(message.error.message || message.error.errorCode);
  return message;
}

/**
 * @param {string | undefined} json
 * @returns {any}
 */
const parse = (json) => (json ? JSON.parse(json) : undefined);
