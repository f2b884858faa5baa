/**
 * The request that a handler works on. Members are separate functions, so that handlers may take them apart:
 * `({ a }, { progress, signal }) => …`.
 *
 * @module
 */

import { textOf } from "../content.js";
import { AskError } from "../errors.js";
import { infinities } from "../schema/check.js";
import { compileInput } from "../schema/schema.js";

/** @import { Answer, AskOptions, Caller, Content, Context, Level, Log, PageOptions, Root, Sample, SampleMessage, SampleOptions, Schema, ToolContext, ToolList } from "../types.js" */
/** @import { Envelope } from "../wire/message-types.js" */
/** @import { ToolEntry } from "../registry.js" */
/** @import { Events } from "./events.js" */
/** @import { Session } from "./session.js" */

/** @type {Level[]} */
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** The form of a question to which the user only agrees. */
const CONFIRMATION = { type: "object", properties: {} };

/** The factor of the progress of a call that has reported a fraction. */
const FRACTIONS = 1000;

/** The reason with which the signal of a cancelled call is aborted. */
export const CANCELLED = "the caller has cancelled the call";

/**
 * A context of any request.
 *
 * @implements {Context}
 */
export class RequestContext {
  cancelled = false;
  /** @type {Record<string, string>} */
  params = {};
  /** @type {AbortController | undefined} */
  _controller;
  /** @type {Record<string, unknown> | undefined} */
  _meta;
  /** @type {Log | undefined} */
  _log;

  /**
   * @param {Session} session
   * @param {Envelope} envelope
   */
  constructor(session, envelope) {
    this._session = session;
    this._envelope = envelope;
    this._since = Date.now();
  }

  get id() {
    return this._envelope.requestId;
  }

  /** @returns {AbortSignal} */
  get signal() {
    this._controller ??= new AbortController();
    if (this.cancelled && !this._controller.signal.aborted)
      this._controller.abort(new DOMException(CANCELLED, "AbortError"));
    return this._controller.signal;
  }

  _cancel() {
    this.cancelled = true;
    this._controller?.abort(new DOMException(CANCELLED, "AbortError"));
  }

  get meta() {
    return (this._meta ??= parseObject(/** @type {any} */ (this._envelope.message).metadataJson));
  }

  /** @returns {Caller} */
  get caller() {
    const context = /** @type {any} */ (this._envelope).context;
    const user = context?.principal;
    const capabilities = parseObject(context?.clientCapabilitiesJson);
    return {
      session: context?.session ?? "",
      protocolVersion: context?.protocolVersion ?? "",
      client: { name: context?.clientName ?? "", version: context?.clientVersion ?? "" },
      capabilities,
      showsApps: Object.hasOwn(/** @type {object} */ (capabilities.extensions ?? {}), "io.modelcontextprotocol/ui"),
      user: user && { subject: user.subject, clientId: user.clientId, issuer: user.issuer, scopes: user.scopes },
    };
  }

  get deadline() {
    const context = /** @type {any} */ (this._envelope).context;
    const left = Number(context?.timeoutMs || this.meta["protomcp/timeoutMs"]);
    return left > 0 ? this._since + left : undefined;
  }

  /** @returns {Log} */
  get log() {
    return (this._log ??= makeLog((level, data, logger) => this._session.log(level, data, logger, this.id)));
  }

  /** @returns {Context["ask"]} */
  get ask() {
    return /** @type {any} */ (
      (
        /** @type {string} */ message,
        /** @type {any} */ about = CONFIRMATION,
        /** @type {AskOptions | undefined} */ options,
      ) => askForm(this, message, about, options)
    );
  }

  /** @returns {Context["askPage"]} */
  get askPage() {
    return (message, url, options) => askPage(this, message, url, options);
  }

  get pageCompleted() {
    return (/** @type {string} */ id) => this._session.pageCompleted(id);
  }

  /** @returns {Context["sample"]} */
  get sample() {
    return (prompt, options = {}) => sample(this, prompt, options);
  }

  /** @returns {Context["roots"]} */
  get roots() {
    return async (options) => {
      const { roots } = await this._session.questions.ask(this.id, "listRootsRequest", {}, options?.key);
      return roots.map((/** @type {Root} */ { uri, name }) => (name ? { uri, name } : { uri }));
    };
  }
}

/**
 * The context of a call.
 *
 * @implements {ToolContext}
 */
export class CallContext extends RequestContext {
  /** The id of the task that the call has become. */
  task = "";
  /** @type {(() => void) | undefined} */
  _begin;
  /** @type {ToolList | undefined} */
  _tools;
  /** The factor of its progress: the wire has integers. Progress has to grow, so a factor stays. */
  _scale = 1;
  /** Set if the call is watched. @type {Events | undefined} */
  _events;

  /**
   * @param {Session} session
   * @param {Envelope} envelope
   * @param {ToolEntry} entry
   */
  constructor(session, envelope, entry) {
    super(session, envelope);
    this._entry = entry;
  }

  get tool() {
    return this._entry.name;
  }

  /** True if the bridge has found that the arguments match, and no middleware of this process has changed them. */
  get _matches() {
    const { argumentsMatch } = /** @type {any} */ (this._envelope.message);
    return Boolean(argumentsMatch) && !this._session.registry.local.length;
  }

  get wantsProgress() {
    return Boolean(this._token);
  }

  get _token() {
    return /** @type {any} */ (this._envelope.message).progressToken;
  }

  /** @returns {ToolContext["progress"]} */
  get progress() {
    return (done, total = 0, message = "") => {
      this._events?.report("progress", { progress: { done, total, message } });
      // A report never fails the call.
      this._scale = isFraction(done) || isFraction(total) ? FRACTIONS : this._scale;
      const report = { progress: scaled(done, this._scale), total: scaled(total, this._scale), message: String(message) };
      if (this.task) this._session.tasks.progress(this.task, report);
      const progressToken = this._token;
      if (progressToken && !this.cancelled) this._session.output.report("progress", { progressToken, ...report });
    };
  }

  get reportProgress() {
    return this.progress;
  }

  get isCancelled() {
    return () => this.cancelled;
  }

  get tools() {
    return (this._tools ??= makeToolList(this._session, this.id));
  }

  get beginTask() {
    return () => this._begin?.();
  }
}

/** @param {unknown} value */
const isFraction = (value) => Number.isFinite(value) && !Number.isInteger(value);

/**
 * @param {number} value
 * @param {number} scale
 */
function scaled(value, scale) {
  const whole = Number.isFinite(value) ? Math.round(value * scale) : 0;
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(whole, Number.MAX_SAFE_INTEGER));
}

/**
 * @param {(level: Level, data: unknown, logger?: string) => void} send
 * @returns {Log}
 */
export function makeLog(send) {
  const byLevel = LEVELS.map((level) => [
    level,
    (/** @type {unknown} */ data, /** @type {string | undefined} */ logger) => send(level, data, logger),
  ]);
  return Object.assign(send, Object.fromEntries(byLevel));
}

/**
 * @param {Session} session
 * @param {string} request
 * @returns {ToolList}
 */
export function makeToolList(session, request) {
  const send = async (/** @type {any} */ kind, /** @type {any} */ message) =>
    (await session.questions.control(request, kind, message)).toolNames;
  const named =
    (/** @type {string} */ kind) =>
    (/** @type {(string | readonly string[])[]} */ ...names) =>
      send(kind, { toolNames: names.flat() });
  return {
    enable: named("enableTools"),
    disable: named("disableTools"),
    setAllowed: named("setAllowed"),
    setBlocked: named("setBlocked"),
    getActiveTools: () => send("getActiveTools", {}),
    batch: (changes) => send("batch", changes),
  };
}

/**
 * @param {RequestContext} context
 * @param {string} message
 * @param {Schema} schema
 * @param {AskOptions} [options]
 * @returns {Promise<Answer<any>>}
 */
async function askForm(context, message, schema, options) {
  context._session.needs("elicitation", "questions for the user");
  const compiled = compileInput(schema, "the form of a question");
  const requestedSchemaJson = JSON.stringify(formSchema(compiled.json));
  const answer = await context._session.questions.ask(
    context.id,
    "elicitationRequest",
    { mode: "form", message, requestedSchemaJson },
    options?.key,
  );
  if (answer.action !== "accept") return { action: answer.action, accepted: false };
  const content = known(parseObject(answer.contentJson), compiled.json.properties);
  const infinite = infinities(answer.contentJson, content);
  const outcome = infinite.length ? { complaints: infinite } : await compiled.check(content);
  if (outcome.complaints) throw new AskError(`the answer does not fit the form: ${outcome.complaints.join("; ")}`);
  return { action: "accept", content: outcome.value, accepted: true };
}

/**
 * @param {RequestContext} context
 * @param {string} message
 * @param {string | URL} url
 * @param {PageOptions} [options]
 * @returns {Promise<Answer<any>>}
 */
async function askPage(context, message, url, options) {
  context._session.needs("elicitation", "questions for the user");
  const elicitationId = options?.id ?? crypto.randomUUID();
  const about = { mode: "url", message, url: String(url), elicitationId };
  const { action } = await context._session.questions.ask(context.id, "elicitationRequest", about, options?.key);
  return action === "accept" ? { action, content: undefined, accepted: true } : { action, accepted: false };
}

/**
 * @param {RequestContext} context
 * @param {string | SampleMessage[]} prompt
 * @param {SampleOptions} options
 * @returns {Promise<Sample>}
 */
async function sample(context, prompt, { key, messages, systemPrompt, maxTokens, modelPreferences, ...params }) {
  const all = [...(messages ?? []), ...(typeof prompt === "string" ? [{ role: "user", content: prompt }] : prompt)];
  const blocks = all.map(({ role, content }) => ({
    role,
    content: typeof content === "string" ? { type: "text", text: content } : content,
  }));
  if (Object.keys(params).length)
    context._session.needs("sampling-params", `the options ${Object.keys(params).join(", ")}`);
  const answer = await context._session.questions.ask(
    context.id,
    "samplingRequest",
    {
      messagesJson: JSON.stringify(blocks),
      modelPreferencesJson: modelPreferences && JSON.stringify(modelPreferences),
      systemPrompt,
      maxTokens,
      ...(Object.keys(params).length && { paramsJson: JSON.stringify(params) }),
    },
    key,
  );
  /** @type {Content | Content[]} */
  const content = JSON.parse(answer.contentJson || "[]");
  return { role: answer.role, content, text: textOf(content), model: answer.model, stopReason: answer.stopReason };
}

/**
 * The fields of a form that it has: clients may send more.
 *
 * @param {Record<string, unknown>} content
 * @param {unknown} properties
 */
const known = (content, properties) =>
  Object.fromEntries(Object.entries(content).filter(([name]) => Object.hasOwn(Object(properties), name)));

/**
 * The schema of a form as MCP allows it: libraries add patterns to formats.
 *
 * @param {any} json
 */
function formSchema(json) {
  /** @type {Record<string, unknown>} */
  const properties = {};
  for (const [name, property] of Object.entries(json.properties ?? {})) {
    const { pattern, ...rest } = property;
    properties[name] = property.format ? rest : property;
  }
  const { additionalProperties, ...form } = json;
  return { ...form, properties };
}

/**
 * @param {string | undefined} text
 * @returns {Record<string, unknown>}
 */
export function parseObject(text) {
  if (!text) return {};
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
