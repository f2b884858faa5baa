// A client of MCP 2025-11-25 over Streamable HTTP, with one session that is opened again when it was lost.

import { format, parse } from "./json.js";
import { readEvents } from "./sse.js";

const REVISION = "2025-11-25";
/** The most calls at once. A browser opens six connections, of which others need three. */
const MAX_CALLS = 3;
/** The longest pause between two attempts to connect, in milliseconds. */
const MAX_PAUSE = 5000;
const APPS = { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } };

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
 */

export class McpClient {
  /** @type {string | null} */ #session = null;
  #id = 0;
  #calls = 0;
  /** @type {(() => void)[]} */ #queue = [];
  /** @type {Map<string, AbortController>} */ #questions = new Map();
  /** @type {Promise<void> | null} */ #opening = null;
  /** @type {any} */ server = null;

  /** @param {string} url @param {string} token @param {Handlers} handlers */
  constructor(url, token, handlers) {
    this.url = url;
    this.token = token;
    this.handlers = handlers;
  }

  /** Keeps a session open until the page is closed. */
  async run() {
    let pause = 250;
    for (;;) {
      try {
        if (!this.#session) await this.#open();
        pause = 250;
        await this.#listen();
      } catch (error) {
        if (error instanceof Unauthorized) return this.handlers.state("unauthorized");
        this.handlers.state("lost", String(error));
        await new Promise((resolve) => setTimeout(resolve, pause));
        pause = Math.min(pause * 2, MAX_PAUSE);
      }
    }
  }

  /**
   * Sends a request, and returns its result.
   *
   * @param {string} method
   * @param {any} params
   * @param {{signal?: AbortSignal, progress?: (progress: any) => void, started?: (id: number) => void}} [options]
   * @returns {Promise<any>}
   */
  async request(method, params, options = {}) {
    const isCall = method === "tools/call";
    if (isCall) await this.#turn();
    try {
      if (!this.#session && method !== "initialize") await this.#open();
      return await this.#send(method, params, options);
    } finally {
      if (isCall) this.#done();
    }
  }

  /** All pages of a list. @param {string} method @param {string} member @returns {Promise<any[]>} */
  async list(method, member) {
    const all = [];
    let cursor;
    for (let page = 0; page < 1000; page += 1) {
      const result = await this.request(method, cursor === undefined ? {} : { cursor });
      all.push(...(result[member] ?? []));
      cursor = result.nextCursor;
      if (cursor === undefined) break;
    }
    return all;
  }

  /** @param {string} method @param {any} [params] */
  async notify(method, params) {
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

  #open() {
    this.#opening ??= this.#handshake().finally(() => (this.#opening = null));
    return this.#opening;
  }

  async #handshake() {
    this.handlers.state("connecting");
    this.server = await this.#send("initialize", {
      protocolVersion: REVISION,
      capabilities: { sampling: {}, elicitation: { form: {}, url: {} }, extensions: APPS },
      clientInfo: { name: "pmcp-playground", version: "1" },
    }, {});
    await this.notify("notifications/initialized");
    this.handlers.state("connected");
  }

  /** Reads the stream of the session until it ends. */
  async #listen() {
    const response = await fetch(this.url, { headers: this.#headers({ accept: "text/event-stream" }) });
    this.#check(response);
    if (!response.ok) throw new Error(`the stream of the session failed with status ${response.status}`);
    await readEvents(response, (event) => event.data && this.#receive(event.data));
  }

  /** @param {string} method @param {any} params @param {any} options */
  async #send(method, params, { signal, progress, started }) {
    const id = (this.#id += 1);
    started?.(id);
    const request = { jsonrpc: "2.0", id, method, params };
    if (progress) request.params = { ...params, _meta: { ...params?._meta, progressToken: id } };
    const cancel = () => {
      this.notify("notifications/cancelled", { requestId: id, reason: "cancelled by the user" }).catch(() => {});
    };
    signal?.throwIfAborted();
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await this.#answer(id, request, signal, progress);
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  /** @param {number} id @param {any} request @param {AbortSignal | undefined} signal @param {any} progress */
  async #answer(id, request, signal, progress) {
    const response = await this.#post(request, signal);
    if (request.method === "initialize") this.#session = response.headers.get("mcp-session-id");
    /** @type {any} */ let answer;
    const take = (/** @type {string} */ text) => {
      const message = this.#receive(text);
      if (message.id === id && !message.method) answer = message;
      else if (message.method === "notifications/progress" && message.params?.progressToken === id) {
        progress?.(message.params);
      }
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
    } else if (message.method) this.handlers.notified(message.method, message.params);
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
    if (message.method === "initialize") delete headers["mcp-session-id"];
    const response = await fetch(this.url, { method: "POST", headers, body: text, signal });
    this.#check(response);
    return response;
  }

  /** @param {Response} response */
  #check(response) {
    if (response.status === 401) throw new Unauthorized("the token in the URL is wrong");
    if (response.status === 404 && this.#session) {
      this.#session = null;
      throw new Error("the session has ended");
    }
  }

  /** @param {Record<string, string>} more @returns {Record<string, string>} */
  #headers(more) {
    const session = /** @type {Record<string, string>} */ (this.#session ? { "mcp-session-id": this.#session, "mcp-protocol-version": REVISION } : {});
    return { authorization: `Bearer ${this.token}`, ...session, ...more };
  }
}
