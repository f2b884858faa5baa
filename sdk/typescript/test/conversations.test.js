// The conversations of conformance/vectors, with the tools of their process declared with this SDK. What this process says
// has the kinds, the ids and the meaning of the vector, but not the way in which a result is cut or packed.
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { app, handOver, middleware, prompt, resource, resourceTemplate, tool, ToolError, ToolResult } from "protomcp";

import { registry } from "../src/registry.js";
import { Output } from "../src/session/output.js";
import { Session } from "../src/session/session.js";
import { FrameReader, writeFrame } from "../src/wire/frames.js";
import { Writer } from "../src/wire/writer.js";
import { envelopeFromJson, envelopeToJson } from "./json.js";

const VECTORS = new URL("../../../conformance/vectors/conversations.json", import.meta.url);
const REST = ["request_id", "for_call", "context", "question_key", "more_questions", "from"];

const object = (properties) => ({ type: "object", properties, required: Object.keys(properties) });
const number = { type: "number" };
const text = object({ text: { type: "string" } });

let jobs = 0;
let release = new AbortController();
const page = app({ name: "app", uri: "ui://second/add", html: "<p>adds</p>" });
const declare = (name, description, handler, more) => tool({ name, description, handler, ...more });

declare("add", "Adds two numbers", ({ a, b }) => new ToolResult({ content: String(a + b), structured: { sum: a + b } }), {
  input: object({ a: number, b: number }),
  output: object({ sum: number }),
  app: page,
});
declare("echo", "Returns a text", ({ text }) => text, { input: text, title: "Echo", readOnly: true });
declare("count", "Counts, with progress", ({ to }, { progress }) => {
  for (let done = 1; done <= to; done++) progress(done, to, `step ${done}`);
  return "counted";
}, { input: object({ to: { type: "integer" } }), destructive: false });
declare("wait", "Waits until it is cancelled", async (_, { log, signal }) => {
  log.info("waiting");
  await once(signal, "abort");
  log.warning("cancelled");
});
declare("large", "Returns a large text", ({ size, error }) => new ToolResult({ content: "x".repeat(size), isError: error }), {
  input: { type: "object", properties: { size: { type: "integer" }, error: { type: "boolean" }, chunk: number } },
});
declare("sample", "Asks the model", async ({ text }, { sample }) => (await sample(text, { maxTokens: 100 })).text, { input: text });
declare("roots", "Asks for the roots", async (_, { roots }) => (await roots()).map(({ uri }) => uri).join(", "));
declare("confirm", "Asks the user", async ({ text }, { ask }) => {
  const { action, content } = await ask(text, object({ sure: { type: "boolean" } }));
  return `${action} ${JSON.stringify(content)}`;
}, { input: text });
declare("reveal", "Shows the secret tool", async (_, { tools }) => (await tools.enable("secret")).join(" "));
declare("hide", "Hides the secret tool", () => new ToolResult({ content: "hidden", disable: ["secret"], meta: { "example.org/hidden": 1 } }));
declare("secret", "Is hidden at the start", () => "42", { hidden: true });
declare("meta", "Returns the metadata of its call", (_, { caller, deadline, meta }) => {
  const { session, protocolVersion, client } = caller;
  const context = { client_name: client.name, protocol_version: protocolVersion, session, timeout_ms: deadline && 300_000 };
  return JSON.stringify({ context, metadata: meta });
});
declare("fail", "Fails", () => {
  throw new ToolError("there is no paper left", { code: "OUT_OF_PAPER", suggestion: "put some in" });
});
declare("job", "Runs as a task", async (_, { beginTask, signal }) => {
  const number = ++jobs;
  beginTask();
  const end = AbortSignal.any([release.signal, signal]);
  if (!end.aborted) await once(end, "abort");
  return `job-${number} is done`;
}, { task: "optional" });
handOver(() => ({ jobs }), (state) => (jobs = state.jobs));

middleware({
  name: "polite",
  priority: 10,
  before: ({ args }) => (args.text === "rude" ? { reject: "be polite" } : undefined),
});
middleware({
  name: "loud",
  priority: 20,
  before: ({ args }) => ({ args: { text: args.text.toUpperCase() } }),
  after: ({ content }) => ({ content: `${content}!` }),
});
resource({
  uri: "memo://one",
  name: "one",
  title: "Memo One",
  mimeType: "text/plain",
  handler: () => ["buy milk", { blob: Buffer.from([0x89, 0x50]), mimeType: "image/png" }],
});
resourceTemplate({
  uriTemplate: "memo://{name}",
  name: "memo",
  mimeType: "text/plain",
  handler: (_, { params }) => {
    if (params.name === "broken") throw new ToolError("the disk is broken", { code: "IO" });
  },
});
prompt({
  name: "greet",
  title: "A Greeting",
  description: "Greets",
  arguments: [{ name: "who", title: "Who", description: "Whom", required: true }],
  complete: {
    who: (typed, settled) =>
      ["Ada", "Alan", "Grace"].filter((name) => name.startsWith(typed) && !Object.values(settled).includes(name)),
  },
  handler: ({ who }) => `Hello, ${who}!`,
});

/** A session of this SDK, and what it says, in the form of the vectors. Raw payloads are in their result. */
class Process {
  #news = new EventEmitter();
  #said = [];
  #header;

  constructor() {
    const envelope = (envelope) => this.#hear(envelopeToJson(envelope));
    const refused = (frame) => assert.fail(JSON.stringify(frame));
    const raw = (header, payload) => {
      this.#header = { ...header, payload: payload.toString() };
      const { followedByResult, requestId } = header;
      if (!followedByResult) this.#hear({ request_id: requestId, call_result: {} });
    };
    const reader = new FrameReader({ envelope, raw, refused });
    this.session = new Session(registry, new Output((bytes) => reader.feed(bytes)));
    this.reader = new FrameReader(this.session);
    this.session.begin();
  }

  #hear(envelope) {
    if (this.#header && "call_result" in envelope) {
      envelope.call_result.result_json = this.#header.payload;
      this.#header = undefined;
    }
    this.#said.push(envelope);
    this.#news.emit("said");
  }

  say(envelope) {
    const { kind, message, ...rest } = envelopeFromJson(envelope);
    const writer = new Writer();
    writeFrame(writer, kind, message, rest);
    this.reader.feed(writer.take());
  }

  async next() {
    while (!this.#said.length) await once(this.#news, "said");
    return this.#said.shift();
  }

  async rest() {
    this.session.end();
    await new Promise((resolve) => setImmediate(resolve));
    return this.#said;
  }
}

/** The steps of a vector, with each result in one envelope. */
function whole(steps) {
  const found = [];
  const chunks = [];
  for (const { from, envelope = {}, raw } of steps) {
    const { stream_header, stream_chunk, request_id } = envelope;
    const last = found.at(-1);
    if (raw) {
      // The payload is the JSON of a text of x, compressed.
      const result_json = JSON.stringify("x".repeat(Number(raw.uncompressed_size) - 2));
      found.push({ from, raw, request_id: raw.request_id, call_result: { result_json } });
    } else if (last?.raw?.followed_by_result && envelope.call_result) {
      Object.assign(last.call_result, envelope.call_result);
    } else if (stream_chunk) {
      chunks.push(Buffer.from(stream_chunk.data, "base64"));
      if (stream_chunk.final)
        found.push({ from, request_id, call_result: { result_json: Buffer.concat(chunks).toString() } });
    } else if (!stream_header) found.push({ from, ...envelope });
  }
  return found;
}

const kindOf = (envelope) => Object.keys(envelope).find((name) => ![...REST, "raw"].includes(name));
const parsed = (text) => (text ? JSON.parse(text) : undefined);
const texts = (content) => [content].flat().map((block) => (typeof block === "string" ? block : block?.text));
const base64 = (data) => Buffer.from(data ?? "", "base64").toString();

/** The part of a message that each process with these tools sends alike. `asked` is the last one of the bridge. */
const MEANINGS = {
  sdk_info: ({ features }) => ["elicitation", "request-context", "ping", "hand-over"].every((name) => features.includes(name)),
  tool_list: ({ tools }) => tools.map(({ name, description, title }) => [name, description, title].join()).sort(),
  call_result({ is_error, error, result_json, structured_content_json, disable_tools, metadata_json }) {
    if (is_error) return error?.error_code === "OUT_OF_PAPER" ? error : "failed";
    return [texts(parsed(result_json)).map(canonical), parsed(structured_content_json), disable_tools, parsed(metadata_json)];
  },
  middleware_intercept_response: ({ reject, reject_reason, ...changed }, asked) =>
    reject ? reject_reason : [parsed(changed.arguments_json ?? asked.arguments_json), texts(parsed(changed.result_json ?? asked.result_json))],
  resource_list_response: ({ resources }) => resources.map(({ uri, name, mime_type }) => [uri, name, mime_type].join()).sort(),
  resource_template_list_response: ({ templates }) => templates.map(({ uri_template, name }) => [uri_template, name]),
  prompt_list_response: ({ prompts }) => prompts.map(({ name, arguments: list }) => [name, list]),
  read_resource_response: ({ contents = [], error }) => [
    contents.map(({ text, blob }) => [text, blob]),
    error?.error_code === "IO" ? error.message : undefined,
  ],
  get_prompt_response: ({ messages = [] }) => messages.map(({ role, content_json }) => [role, texts(parsed(content_json))]),
  completion_response: ({ values }) => values,
  sampling_request: ({ messages_json, max_tokens }) => [parsed(messages_json).map(({ content }) => texts(content)), max_tokens],
  elicitation_request: ({ message, requested_schema_json }) => [message, parsed(requested_schema_json)],
  log: ({ level, data_json }) => [level, parsed(data_json)],
  task_status_response: ({ state }) => state === "cancelled",
  hand_over_response: ({ state }) => parsed(base64(state)) ?? { jobs: 0 },
  take_over_response: ({ error }) => Boolean(error),
  create_task: () => undefined,
  list_roots_request: () => undefined,
};
const meaning = (kind, message, asked) => (MEANINGS[kind] ? MEANINGS[kind](message, asked) : message);

/** The text of an object without the blanks of its writer. */
function canonical(text) {
  return text?.startsWith("{") ? JSON.parse(text) : text;
}

/** The envelope of the bridge, with the ids that this process has given to questions and tasks. */
function withIds({ from, ...envelope }, ids) {
  const copy = structuredClone(envelope);
  for (const message of [copy, copy[kindOf(copy)]])
    for (const name of ["request_id", "task_id"]) if (ids.has(message[name])) message[name] = ids.get(message[name]);
  return copy;
}

for (const vector of JSON.parse(readFileSync(VECTORS, "utf8")).vectors) {
  test(`this process in the conversation: ${vector.name}`, async (t) => {
    t.mock.method(console, "error", () => {});
    [jobs, release] = [0, new AbortController()];
    const process = new Process();
    const ids = new Map();
    const cancelled = new Set();
    // A cancelled call has a result that no client sees.
    const isSeen = (envelope) => !("call_result" in envelope) || !cancelled.has(envelope.request_id);
    const next = async () => {
      for (;;) {
        const envelope = await process.next();
        if (isSeen(envelope)) return envelope;
      }
    };
    let asked = {};
    for (const step of whole(vector.steps)) {
      const kind = kindOf(step);
      if (step.from === "bridge") {
        asked = step[kind];
        if (kind === "cancel") cancelled.add(asked.request_id);
        if (kind === "task_result" || kind === "hand_over") release.abort();
        const poll = withIds({ task_status: asked, request_id: "poll" }, ids);
        for (let state = ""; kind === "task_result" && state !== "completed"; ) {
          process.say(poll);
          ({ state } = (await next()).task_status_response);
        }
        process.say(withIds(step, ids));
        continue;
      }
      const found = await next();
      assert.equal(kindOf(found), kind, JSON.stringify([found, step]));
      if (kind.endsWith("_request") || kind === "enable_tools") ids.set(step.request_id, found.request_id);
      else if (kind === "create_task") ids.set(step[kind].task_id, found[kind].task_id);
      assert.equal(found.request_id, ids.get(step.request_id) ?? step.request_id);
      assert.equal(found.for_call, step.for_call);
      assert.deepEqual(meaning(kind, found[kind], asked), meaning(kind, step[kind], asked));
    }
    release.abort();
    const rest = (await process.rest()).filter((envelope) => isSeen(envelope) && !("log" in envelope));
    assert.deepEqual(rest, []);
  });
}
