// A client of MCP over Streamable HTTP, in any revision: with one session that is opened again when it was lost, or without.

import { discovered, introduction, isStateless, metadata, requestHeaders } from "./eras.js";
import { format, parse } from "./json.js";
import { readEvents } from "./sse.js";

/** The most concurrent calls. A browser opens six connections, of which others need three. */
const MAX_CALLS = 3;
/** The longest pause between two attempts to connect, in milliseconds. */
const MAX_PAUSE = 5000;
/** The most requests whose progress is shown. */
const MAX_PROGRESS = 200;
/** The most rounds of questions of one request without a session. */
const MAX_ROUNDS = 32;

/** An error that the server has answered with. */
export class RpcError extends Error {
  /** @param {{code: number, message: string, data?: any}} error */
  constructor(error) {
    super(error.message);
    this.code = error.code;
    this.data = error.data;
  }
}

/** The token is wrong, or missing. */
export class Unauthorized extends Error {}

/**
 * @typedef {object} Handlers
 * @property {(sender: "client" | "server", text: string, message: any) => void} message each message, in both directions
 * @property {(method: string, params: any) => void} notified
 * @property {(method: string, params: any, signal: AbortSignal) => Promise<any>} asked a request of the server
 * @property {(state: "connecting" | "connected" | "lost" | "unauthorized", why?: string) => void} state
 * @property {(name: string) => any} tool the definition of a tool
 */

/** @typedef {{signal?: AbortSignal, progress?: (progress: any) => void}} Options */

export class McpClient {
  /** @type {string | null} */ #session = null;
  #id = 0;
  #calls = 0;
  /** @type {(() => void)[]} */ #queue = [];
  /** @type {Map<string, AbortController>} */ #questions = new Map();
  /** The progress of requests by their tokens; a task goes on after its request. @type {Map<number, (progress: any) => void>} */ #progress = new Map();
  /** @type {Promise<void> | null} */ #opening = null;
  #stream = new AbortController();
  /** @type {any} */ server = null;
  /** The level of log messages; empty for the usual one. */ level = "";
  /** The URIs of resources whose changes are told. @type {Set<string>} */ subscriptions = new Set();

  /** @param {string} url @param {string} token @param {string} revision @param {Handlers} handlers */
  constructor(url, token, revision, handlers) {
    this.url = url;
    this.token = token;
    this.revision = revision;
    this.handlers = handlers;
  }

  /** Keeps a session, or the stream of changes, open until the page is closed. */
  async run() {
    let pause = 250;
    for (;;) {
      const stream = (this.#stream = new AbortController());
      try {
        if (!this.server) await this.#open();
        pause = 250;
        await this.#listen(stream.signal);
      } catch (error) {
        if (error instanceof Unauthorized) return this.handlers.state("unauthorized");
        if (stream.signal.aborted) continue;
        if (this.server && error instanceof RpcError) {
          // A server without changes to tell.
          await new Promise((resolve) => stream.signal.addEventListener("abort", resolve));
          continue;
        }
        this.handlers.state("lost", String(error));
        if (isStateless(this.revision)) this.server = null;
        await new Promise((resolve) => setTimeout(resolve, pause));
        pause = Math.min(pause * 2, MAX_PAUSE);
      }
    }
  }

  /** Begins anew in this revision. @param {string} revision */
  async change(revision) {
    const [session, headers] = [this.#session, this.#headers({})];
    this.revision = revision;
    this.#end();
    this.#stream.abort();
    if (session) await fetch(this.url, { method: "DELETE", headers }).catch(() => {});
  }

  /** Asks for the changes of a resource, or no longer. @param {string} uri @param {boolean} isWanted */
  async subscribe(uri, isWanted) {
    if (isWanted) this.subscriptions.add(uri);
    else this.subscriptions.delete(uri);
    if (isStateless(this.revision)) this.#stream.abort();
    else await this.request(isWanted ? "resources/subscribe" : "resources/unsubscribe", { uri });
  }

  /** Asks for log messages from this level on. @param {string} level */
  async setLevel(level) {
    this.level = level;
    if (level && !isStateless(this.revision)) await this.request("logging/setLevel", { level });
  }

  /**
   * Sends a request, and returns its result. Without a session the questions in the result are answered, and it is sent again.
   *
   * @param {string} method
   * @param {any} params
   * @param {Options} [options]
   * @returns {Promise<any>}
   */
  async request(method, params, options = {}) {
    const isCall = method === "tools/call";
    if (isCall) await this.#turn();
    try {
      if (!this.server && method !== "initialize") await this.#open();
      let answers = {};
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const result = await this.#send(method, { ...params, ...answers }, options);
        if (result?.resultType !== "input_required") return result;
        const inputResponses = await this.answerAll(result.inputRequests, options.signal);
        answers = { inputResponses, ...(result.requestState !== undefined && { requestState: result.requestState }) };
      }
      throw new Error(`the server has asked more than ${MAX_ROUNDS} times`);
    } finally {
      if (isCall) this.#done();
    }
  }

  /** The answers to questions by their keys. @param {any} questions @param {AbortSignal} [signal] */
  async answerAll(questions, signal = new AbortController().signal) {
    const answers = /** @type {Record<string, any>} */ ({});
    for (const [key, { method, params }] of Object.entries(questions ?? {})) {
      answers[key] = await this.handlers.asked(method, params, signal);
    }
    return answers;
  }

  /** All pages of a list. @param {string} method @param {string} member @returns {Promise<any[]>} */
  async list(method, member) {
    const all = [];
    const seen = new Set();
    let cursor;
    while (seen.size < 1000) {
      const result = await this.request(method, cursor === undefined ? {} : { cursor });
      const next = result.nextCursor ?? undefined;
      // Some servers mean the end with an empty cursor, and begin again if it is sent back.
      if (cursor === "" && seen.has(next)) break;
      all.push(...(result[member] ?? []));
      if (next === undefined || seen.has(next)) break;
      seen.add(next);
      cursor = next;
    }
    return all;
  }

  /** @param {string} method @param {any} [params] */
  async notify(method, params) {
    if (isStateless(this.revision)) return;
    const response = await this.#post({ jsonrpc: "2.0", method, ...(params && { params }) });
    await response.body?.cancel();
  }

  async #turn() {
    if (this.#calls >= MAX_CALLS) await new Promise((resolve) => this.#queue.push(() => resolve(null)));
    this.#calls += 1;
  }

  #done() {
    this.#calls -= 1;
    this.#queue.shift()?.();
  }

  #end() {
    this.#session = null;
    this.server = null;
  }

  #open() {
    this.#opening ??= this.#handshake().finally(() => (this.#opening = null));
    return this.#opening;
  }

  async #handshake() {
    this.handlers.state("connecting");
    if (isStateless(this.revision)) this.server = discovered(await this.#send("server/discover", {}, {}));
    else {
      this.server = await this.#send("initialize", introduction(this.revision), {});
      await this.notify("notifications/initialized");
      for (const uri of this.subscriptions) await this.#send("resources/subscribe", { uri }, {}).catch(() => {});
    }
    this.handlers.state("connected");
  }

  /** Reads the stream of the session, or of changes, until it ends. @param {AbortSignal} signal */
  async #listen(signal) {
    if (isStateless(this.revision)) {
      const { tools, prompts, resources } = this.server.capabilities ?? {};
      const notifications = {
        toolsListChanged: Boolean(tools?.listChanged),
        promptsListChanged: Boolean(prompts?.listChanged),
        resourcesListChanged: Boolean(resources?.listChanged),
        resourceSubscriptions: [...this.subscriptions],
      };
      await this.#send("subscriptions/listen", { notifications }, { signal });
      return;
    }
    const response = await fetch(this.url, { headers: this.#headers({ accept: "text/event-stream" }), signal });
    this.#check(response);
    if (!response.ok) throw new Error(`the stream of the session failed with status ${response.status}`);
    await readEvents(response, (event) => event.data && this.#receive(event.data));
  }

  /** @param {string} method @param {any} params @param {Options} options */
  async #send(method, params, { signal, progress }) {
    const id = (this.#id += 1);
    const _meta = {
      ...params?._meta,
      ...(isStateless(this.revision) && metadata(this.level)),
      ...(progress && { progressToken: id }),
    };
    const request = { jsonrpc: "2.0", id, method, params: Object.keys(_meta).length ? { ...params, _meta } : params };
    const session = this.#session;
    // Without a session the end of the response is the cancellation.
    const cancel = () => {
      if (session === null || session !== this.#session) return;
      this.notify("notifications/cancelled", { requestId: id, reason: "cancelled by the user" }).catch(() => {});
    };
    signal?.throwIfAborted();
    signal?.addEventListener("abort", cancel, { once: true });
    if (progress) this.#progress.set(id, progress);
    // The latest are enough: a page has few tasks.
    if (this.#progress.size > MAX_PROGRESS) this.#progress.delete(/** @type {number} */ (this.#progress.keys().next().value));
    try {
      return await this.#answer(id, request, signal);
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** @param {number} id @param {any} request @param {AbortSignal | undefined} signal */
  async #answer(id, request, signal) {
    const response = await this.#post(request, signal);
    if (request.method === "initialize") this.#session = response.headers.get("mcp-session-id");
    /** @type {any} */ let answer;
    const take = (/** @type {string} */ text) => {
      const message = this.#receive(text);
      if (message.id === id && !message.method) answer = message;
    };
    if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
      await readEvents(response, (event) => event.data && take(event.data));
    } else take(await response.text());
    if (answer?.error) throw new RpcError(answer.error);
    if (!answer) throw new Error(`no answer (status ${response.status})`);
    return answer.result;
  }

  /** A message of the server. @param {string} text */
  #receive(text) {
    const message = parse(text);
    this.handlers.message("server", text, message);
    if (message.method && message.id !== undefined) this.#asked(message);
    else if (message.method === "notifications/cancelled") {
      this.#questions.get(JSON.stringify(message.params?.requestId))?.abort();
    } else if (message.method === "notifications/progress") this.#progress.get(message.params?.progressToken)?.(message.params);
    else if (message.method) this.handlers.notified(message.method, message.params);
    return message;
  }

  /** @param {any} request */
  async #asked({ id, method, params }) {
    const controller = new AbortController();
    const key = JSON.stringify(id);
    this.#questions.set(key, controller);
    let answer;
    try {
      const result = method === "ping" ? {} : await this.handlers.asked(method, params, controller.signal);
      answer = { jsonrpc: "2.0", id, result };
    } catch (error) {
      const { code = -32603, message } = /** @type {any} */ (error);
      answer = { jsonrpc: "2.0", id, error: { code, message: String(message) } };
    }
    this.#questions.delete(key);
    if (!controller.signal.aborted) (await this.#post(answer)).body?.cancel();
  }

  /** @param {any} message @param {AbortSignal} [signal] */
  async #post(message, signal) {
    const text = format(message, 0);
    this.handlers.message("client", text, message);
    const headers = this.#headers({ accept: "application/json, text/event-stream", "content-type": "application/json" });
    if (isStateless(this.revision)) {
      const { method, params } = message;
      const tool = method === "tools/call" ? this.handlers.tool(params?.name) : undefined;
      Object.assign(headers, requestHeaders(method, params, tool));
    }
    const response = await fetch(this.url, { method: "POST", headers, body: text, signal });
    this.#check(response);
    return response;
  }

  /** @param {Response} response */
  #check(response) {
    if (response.status === 401) throw new Unauthorized("the token in the URL is wrong");
    if (response.status === 404 && this.#session) {
      this.#end();
      throw new Error("the session has ended");
    }
  }

  /** @param {Record<string, string>} more @returns {Record<string, string>} */
  #headers(more) {
    const version = this.server?.protocolVersion ?? this.revision;
    const session = /** @type {Record<string, string>} */ (this.#session ? { "mcp-session-id": this.#session, "mcp-protocol-version": version } : {});
    return { authorization: `Bearer ${this.token}`, ...session, ...more };
  }
}
