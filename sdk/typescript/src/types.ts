/**
 * The types of what authors write: tools, contexts, results. Nothing here exists at run time.
 *
 * @module
 */

import type { ToolResult } from "./result.js";
import type { Checked, Schema, Unchecked } from "./schema/types.js";

export type * from "./schema/types.js";

// ---------------------------------------------------------------- content

/** An icon of a tool, resource or prompt. */
export interface Icon {
  src: string;
  mimeType?: string;
  sizes?: string[];
  theme?: "light" | "dark";
}

/** Hints of MCP for content: its audience and importance. */
export interface Annotations {
  audience?: ("user" | "assistant")[];
  /** From 0, the least, to 1. */
  priority?: number;
  /** ISO 8601. */
  lastModified?: string;
}

interface Block {
  annotations?: Annotations;
  _meta?: Record<string, unknown>;
}

export interface TextContent extends Block {
  type: "text";
  text: string;
}
export interface ImageContent extends Block {
  type: "image";
  /** Base64. */
  data: string;
  mimeType: string;
}
export interface AudioContent extends Block {
  type: "audio";
  /** Base64. */
  data: string;
  mimeType: string;
}
export interface ResourceLink extends Block {
  type: "resource_link";
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number;
}
export interface EmbeddedResource extends Block {
  type: "resource";
  resource: { uri: string; mimeType?: string; text: string } | { uri: string; mimeType?: string; blob: string };
}

/** One piece of a result or of a message: a content block of MCP. */
export type Content = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;

// ---------------------------------------------------------------- questions

/** The answer of a user to a form. */
export type Answer<T> =
  | { action: "accept"; content: T; accepted: true }
  | { action: "decline" | "cancel"; content?: undefined; accepted: false };

/** Settings of one question. */
export interface AskOptions {
  /** The name of the question, unique in its call. Without it `pmcp` chooses one. At most 128 bytes. */
  key?: string;
}

/** Settings of one question for a page. */
export interface PageOptions extends AskOptions {
  /** Names the visit for {@link Context.pageCompleted}. Without it `pmcp` gets a random one. */
  id?: string;
}

/** A message of a conversation with a model. */
export interface SampleMessage {
  role: "user" | "assistant";
  content: string | Content | Content[];
}

/**
 * A request for a message of the client's model.
 *
 * MCP 2026-07-28 deprecates sampling: it stays for a year at least, and few clients have it.
 */
export interface SampleOptions extends AskOptions {
  messages?: SampleMessage[];
  /** At most this many tokens; 1000 by default. */
  maxTokens?: number;
  systemPrompt?: string;
  /** The kind of model that is wanted, as in MCP. */
  modelPreferences?: Record<string, unknown>;
  temperature?: number;
  stopSequences?: string[];
  includeContext?: "none" | "thisServer" | "allServers";
  metadata?: Record<string, unknown>;
  tools?: Record<string, unknown>[];
  toolChoice?: Record<string, unknown>;
}

/** A message of the client's model. */
export interface Sample {
  role: string;
  content: Content | Content[];
  /** The texts of the content. */
  text: string;
  model: string;
  stopReason: string;
}

/**
 * A folder that the client has opened.
 *
 * MCP 2026-07-28 deprecates roots: they stay for a year at least. Take folders as arguments of tools instead.
 */
export interface Root {
  uri: string;
  name?: string;
}

// ---------------------------------------------------------------- contexts

/** Severities of MCP, the least severe first. */
export type Level = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/**
 * Sends log messages to the client; also as `log.info(…)` and so on. Data is any JSON.
 *
 * MCP 2026-07-28 deprecates log messages to clients: they stay for a year at least. What only the operator needs belongs to
 * `console`, which is in the log of `pmcp`.
 */
export interface Log extends Record<Level, (data: unknown, logger?: string) => void> {
  (level: Level, data: unknown, logger?: string): void;
}

/** The client that a request comes from. Unknown members are empty. */
export interface Caller {
  /** Names the session; empty for requests without one. */
  session: string;
  /** The revision of MCP. */
  protocolVersion: string;
  client: { name: string; version: string };
  /** The capabilities of the client, as in MCP. */
  capabilities: Record<string, unknown>;
  /** The client shows MCP Apps. */
  showsApps: boolean;
  /** The authenticated user; undefined without authentication. */
  user: { subject: string; clientId: string; issuer: string; scopes: string[] } | undefined;
}

/** Shows and hides tools. Each method answers with the names of the tools that are shown afterwards. */
export interface ToolList {
  enable(...names: (string | readonly string[])[]): Promise<string[]>;
  disable(...names: (string | readonly string[])[]): Promise<string[]>;
  /** Shows these tools and no others. */
  setAllowed(...names: (string | readonly string[])[]): Promise<string[]>;
  /** Shows all tools but these. */
  setBlocked(...names: (string | readonly string[])[]): Promise<string[]>;
  getActiveTools(): Promise<string[]>;
  /** Several changes in one step. */
  batch(changes: { enable?: string[]; disable?: string[]; allow?: string[]; block?: string[] }): Promise<string[]>;
}

/** The request that a handler works on. */
export interface Context {
  /** Aborted when the caller no longer wants the result. */
  readonly signal: AbortSignal;
  /** True after the caller has given up. */
  readonly cancelled: boolean;
  /** The `_meta` of the request. */
  readonly meta: Record<string, unknown>;
  readonly caller: Caller;
  /** The time at which the bridge gives up, as in `Date.now()`; undefined if it is not known. */
  readonly deadline: number | undefined;
  readonly log: Log;
  /** Asks the user to fill in a form. Questions that are asked at the same time, with `Promise.all`, are shown together. */
  ask<const S extends Schema>(message: string, schema: S, options?: AskOptions): Promise<Answer<Checked<S>>>;
  /** Asks the user to agree. */
  ask(message: string): Promise<Answer<Record<never, never>>>;
  /** Asks the user to visit a page. */
  askPage(message: string, url: string | URL, options?: PageOptions): Promise<Answer<undefined>>;
  /** Tells the client that the user has finished on the page of the visit with this id. */
  pageCompleted(id: string): void;
  /** Asks the client's model for a message. */
  sample(prompt: string | SampleMessage[], options?: SampleOptions): Promise<Sample>;
  /** Asks for the folders that the client has opened. */
  roots(options?: AskOptions): Promise<Root[]>;
}

/** The call that the handler of a tool works on. */
export interface ToolContext extends Context {
  /** The name of the tool. */
  readonly tool: string;
  /** True if the caller wants progress. */
  readonly wantsProgress: boolean;
  /** Reports progress, if the caller wants it. `done` grows with each report; 0 for `total` means unknown. */
  progress(done: number, total?: number, message?: string): void;
  /** Shows and hides tools for the session of the caller. */
  readonly tools: ToolList;
  /** From here on the call is a task, if the tool has `task`: the caller need not wait for its result. */
  beginTask(): void;
  /** The same as `progress`. */
  reportProgress(done: number, total?: number, message?: string): void;
  /** The same as `cancelled`. */
  isCancelled(): boolean;
}

/** The request that the handler of a resource works on. */
export interface ResourceContext<Params = Record<string, string>> extends Context {
  /** The variables of the URI template. */
  readonly params: Params;
}

// ---------------------------------------------------------------- tools

/** Hints of MCP about a tool. Those that are not given are not stated. */
export interface Hints {
  /** The tool changes nothing. */
  readOnly?: boolean;
  /** The tool may destroy something. */
  destructive?: boolean;
  /** A second call with the same arguments changes nothing more. */
  idempotent?: boolean;
  /** The tool reaches other systems. */
  openWorld?: boolean;
  /** The same as `readOnly`, and so on. */
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** The names, texts and icons that all definitions have. */
export interface Described {
  /** The name for people. */
  title?: string;
  /** The purpose, for the model. */
  description?: string;
  icons?: Icon[];
  /** The `_meta` of the definition. */
  meta?: Record<string, unknown>;
}

/** Values that a handler may return: see the README, "Results". */
export type Returned<Out> = [Out] extends [never] ? unknown : Unchecked<Out> | ToolResult;

/** The request for which a function provides a value. */
export interface Provision {
  /** The arguments of the call or prompt after their check, or the variables of the resource template. */
  readonly args: any;
  readonly context: Context;
  /** The value of another function, which runs once for each request. */
  get<P extends Provider<any>>(provider: P): Promise<Provided<P>>;
}

/**
 * Provides a value for one request. A generator is resumed after the handler: the code behind `yield` closes the value.
 */
export type Provider<T> = (
  request: Provision,
) => T | Promise<T> | Generator<T, unknown, any> | AsyncGenerator<T, unknown, any>;

/** The value of a {@link Provider}. */
export type Provided<P> = P extends (...args: any[]) => infer R
  ? R extends AsyncGenerator<infer T, any, any>
    ? T
    : R extends Generator<infer T, any, any>
      ? T
      : Awaited<R>
  : never;

/** The values of a handler by name. */
export type Values<V> = { readonly [Name in keyof V]: Provided<V[Name]> };

/** A tool. */
export interface ToolOptions<In, Out, V = {}> extends Described, Hints {
  /** Unique. Without it the tool has the name under which its module exports it. */
  name?: string;
  /** The arguments. Without a schema the tool has none. */
  input?: In;
  /** The same as `input`. */
  args?: In;
  /** The structured result. Without a schema none is promised. */
  output?: Out;
  /** Not shown until it is enabled. */
  hidden?: boolean;
  /** A call may (`true`, "optional") or must ("required") become a task, whose result the caller fetches later. */
  task?: boolean | "optional" | "required";
  /** The same as `task: true`. */
  taskSupport?: boolean;
  /** The page of MCP Apps that shows the results. */
  app?: App;
  /** The callers of the tool: the model, the page of an app, or both (the default). */
  visibility?: ("model" | "app")[];
  /** Functions that provide values for each call; the handler has them as its third argument. */
  values?: V & Record<string, Provider<any>>;
  handler(args: Arguments<In>, context: ToolContext, values: Values<V>): Returned<Out> | Promise<Returned<Out>>;
}

/** The arguments of a handler. */
export type Arguments<In> = [In] extends [never] ? Record<string, unknown> : Checked<In>;

/** A tool that was declared. */
export interface Tool<In = any, Out = any> {
  readonly name: string;
  readonly options: ToolOptions<In, Out>;
  /** Takes the tool away from all clients. */
  remove(): void;
}

/** A page of MCP Apps that was declared. */
export interface App {
  readonly uri: string;
}

// ---------------------------------------------------------------- resources and prompts

/** The content of a resource: text, bytes, or parts of them. `meta` next to `contents` is the `_meta` of the answer. */
export type ResourceBody =
  | string
  | Uint8Array
  | ArrayBuffer
  | ResourcePart
  | readonly (string | Uint8Array | ArrayBuffer | ResourcePart)[]
  | { contents: readonly (string | Uint8Array | ArrayBuffer | ResourcePart)[]; meta?: Record<string, unknown> }
  | undefined;

/** One part of a resource. */
export interface ResourcePart {
  uri?: string;
  mimeType?: string;
  text?: string;
  blob?: Uint8Array | ArrayBuffer;
  meta?: Record<string, unknown>;
}

export interface ResourceOptions<V = {}> extends Described {
  uri: string;
  name?: string;
  mimeType?: string;
  /** In bytes. */
  size?: number;
  annotations?: Annotations;
  /** Returns the content. `undefined` means that there is no such resource. */
  handler(
    uri: string,
    context: ResourceContext<Record<never, string>>,
    values: Values<V>,
  ): ResourceBody | Promise<ResourceBody>;
  /** Functions that provide values for each request. */
  values?: V & Record<string, Provider<any>>;
}

/** The variables of a URI template. */
export type TemplateParams<T extends string> = string extends T
  ? Record<string, string>
  : { [Name in VariableOf<T>]: string };
type VariableOf<T extends string> = T extends `${string}{${infer Expression}}${infer Rest}`
  ? NameOf<Expression> | VariableOf<Rest>
  : never;
type NameOf<E extends string> = E extends `${infer First},${infer Rest}`
  ? NameOf<First> | NameOf<Rest>
  : E extends `${"+" | "#" | "." | "/" | ";" | "?" | "&"}${infer Name}`
    ? NameOf<Name>
    : E extends `${infer Name}*`
      ? Name
      : E;

export interface ResourceTemplateOptions<T extends string, V = {}> extends Described {
  /** RFC 6570. */
  uriTemplate: T;
  name?: string;
  mimeType?: string;
  annotations?: Annotations;
  /** Suggestions for the variables. */
  complete?: { [Name in keyof TemplateParams<T>]?: Completer };
  /** Returns the content. `undefined` means that there is no such resource. */
  handler(
    uri: string,
    context: ResourceContext<TemplateParams<T>>,
    values: Values<V>,
  ): ResourceBody | Promise<ResourceBody>;
  /** Functions that provide values for each request. */
  values?: V & Record<string, Provider<any>>;
}

/** A message of a prompt. A text alone is a message of the user. */
export interface PromptMessage {
  role: "user" | "assistant";
  content: string | Content;
}

export interface PromptArgument {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
}

export type PromptBody =
  | string
  | PromptMessage
  | readonly (string | PromptMessage)[]
  | { description?: string; messages: readonly (string | PromptMessage)[]; meta?: Record<string, unknown> };

export interface PromptOptions<In, V = {}> extends Described {
  /** Unique. Without it the prompt has the name under which its module exports it. */
  name?: string;
  /** The arguments as a schema of an object of strings. */
  input?: In;
  /** The same as `input`. */
  args?: In;
  /** The arguments as a list. */
  arguments?: readonly PromptArgument[];
  /** Suggestions for the arguments. Those with an enumeration as schema have them already. */
  complete?: Record<string, Completer>;
  /** Functions that provide values for each request. */
  values?: V & Record<string, Provider<any>>;
  handler(
    args: [In] extends [never] ? Record<string, string> : Checked<In>,
    context: Context,
    values: Values<V>,
  ): PromptBody | Promise<PromptBody>;
}

/** Suggestions, best first. At most 100 are used. */
export type Suggestions =
  | readonly string[]
  | { values: readonly string[]; total?: number; hasMore?: boolean; meta?: Record<string, unknown> };

/** Suggests values for an argument, from its first letters and the arguments that are settled. */
export type Completer = (
  typed: string,
  settled: Record<string, string>,
  context: Context,
) => Suggestions | Promise<Suggestions>;

/** A resource, template, prompt or completion that was declared. */
export interface Declared {
  /** Takes it away from all clients. */
  remove(): void;
}

// ---------------------------------------------------------------- telemetry and sidecars

/** One step of a call. */
export interface CallEvent {
  readonly tool: string;
  /** The `action` of a group that is one tool. */
  readonly action: string | undefined;
  readonly phase: "start" | "progress" | "success" | "error";
  /** As they came. */
  readonly args: Record<string, unknown>;
  /** The value of the handler. */
  readonly result?: unknown;
  readonly error?: unknown;
  /** Milliseconds since the start. */
  readonly duration: number;
  readonly progress?: { done: number; total: number; message: string };
}

/** A program that lives as long as the tools need it. */
export interface SidecarOptions {
  /** Unique. */
  name: string;
  /** The program and its arguments. Its output goes to the log of `pmcp`. */
  command: readonly string[];
  cwd?: string | URL;
  /** Added to the environment of the process. */
  env?: Record<string, string>;
  /** The start waits until this URL answers with a status of 200 to 299. */
  healthCheck?: string | URL;
  /** In milliseconds; 30 seconds by default. */
  healthTimeout?: number;
  /** `"first_tool_call"` by default. */
  startOn?: "first_tool_call" | "server_start";
  /** Milliseconds from SIGTERM to SIGKILL; 3 seconds by default. */
  stopTimeout?: number;
}

// ---------------------------------------------------------------- middleware

/** A call on its way to its handler. */
export interface LocalCall {
  readonly tool: string;
  args: any;
  readonly context: ToolContext;
}

/** Wraps the calls of all tools in this process: `next` runs the rest and returns the result of the handler. */
export type LocalMiddleware = (call: LocalCall, next: () => Promise<unknown>) => unknown;

/** A call that a middleware of the bridge sees. */
export interface InterceptedCall {
  readonly tool: string;
  /** The arguments as they are now. */
  readonly args: Record<string, unknown>;
  /** The content as it is now; empty before the tool has run. */
  readonly content: unknown;
  readonly isError: boolean;
}

/** The decision of a middleware. Nothing: the call continues as it is. */
export type Decision = void | undefined | { args?: Record<string, unknown>; content?: unknown; reject?: string | false };

export interface MiddlewareOptions {
  /** Unique. */
  name: string;
  /** Lower numbers see a call earlier and its result later. 0 by default. */
  priority?: number;
  before?(call: InterceptedCall): Decision | Promise<Decision>;
  after?(call: InterceptedCall): Decision | Promise<Decision>;
}
