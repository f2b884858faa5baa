// One tool, resource, template or prompt: its form, its calls, and their results.

import { pageOf, showApp } from "./apps.js";
import { button, duration, h } from "./dom.js";
import { form } from "./form.js";
import { tree } from "./json.js";
import { RpcError } from "./mcp.js";
import { messagesView, rawView, resourceView, resultView } from "./result.js";
import { expand, variables } from "./uri.js";

/** @typedef {import("./history.js").Done} Done */

/**
 * @typedef {object} Desk
 * @property {import("./mcp.js").McpClient} client
 * @property {() => any[]} tools
 * @property {(entry: Done) => void} started
 * @property {() => void} changed
 * @property {(uri: string) => void} open shows a resource
 */

/**
 * The view of an item.
 *
 * @param {Done["kind"]} kind
 * @param {any} item
 * @param {Desk} desk
 * @returns {{element: any, read: () => any, write: (value: any) => void, show: (view: any) => void}}
 */
export function itemView(kind, item, desk) {
  const results = h("div", { class: "results" });
  const fields = form(schemaOf(kind, item), {
    submit: kind === "tools" ? "Call" : kind === "prompts" ? "Get" : "Read",
    complete: completion(kind, item, desk),
    onsubmit: (input) => run(kind, item, input, desk, results),
  });
  const title = item.title ?? item.annotations?.title;
  const name = item.name ?? item.uri;
  const { annotations = {}, execution } = item;
  const badges = [
    annotations.readOnlyHint && "read only",
    annotations.destructiveHint && "destructive",
    annotations.idempotentHint && "idempotent",
    annotations.openWorldHint && "open world",
    execution?.taskSupport && execution.taskSupport !== "forbidden" && `task ${execution.taskSupport}`,
    pageOf(item) && "app",
    item.mimeType,
  ].filter(Boolean);
  const element = h("article", { "aria-label": name },
    h("h2", { tabIndex: -1 }, title ?? name), title && h("p", { class: "hint" }, name),
    (item.uri ?? item.uriTemplate) && h("p", { class: "hint" }, h("code", null, item.uri ?? item.uriTemplate)),
    badges.length > 0 && h("p", null, badges.map((badge) => h("span", { class: "badge" }, badge))),
    item.description && h("p", { class: "text" }, item.description),
    fields.element,
    h("details", { class: "definition" }, h("summary", null, "Definition"), tree(item, 2)),
    results);
  return { element, read: fields.read, write: fields.write, show: (view) => results.replaceChildren(view) };
}

/** @param {Done["kind"]} kind @param {any} item */
function schemaOf(kind, item) {
  const texts = (/** @type {[string, any][]} */ members, /** @type {string[]} */ required) => ({
    type: "object",
    properties: Object.fromEntries(members.map(([name, more]) => [name, { type: "string", ...more }])),
    required,
    additionalProperties: false,
  });
  switch (kind) {
    case "tools": return { additionalProperties: false, properties: {}, ...(item.inputSchema ?? { type: "object" }) };
    case "prompts": {
      const given = item.arguments ?? [];
      const required = given.filter((/** @type {any} */ argument) => argument.required).map((/** @type {any} */ { name }) => name);
      return texts(given.map((/** @type {any} */ { name, title, description }) => [name, { title, description }]), required);
    }
    case "templates": {
      const names = variables(item.uriTemplate);
      return texts(names.map((name) => [name, {}]), names);
    }
    default: return texts([], []);
  }
}

/** Completion of the arguments of prompts, and of the variables of templates. @param {Done["kind"]} kind @param {any} item @param {Desk} desk */
function completion(kind, item, { client }) {
  if (kind !== "prompts" && kind !== "templates") return undefined;
  if (client.server && !client.server.capabilities?.completions) return undefined;
  const ref = kind === "prompts" ? { type: "ref/prompt", name: item.name } : { type: "ref/resource", uri: item.uriTemplate };
  return async (/** @type {string} */ name, /** @type {string} */ value, /** @type {any} */ others) => {
    const params = { ref, argument: { name, value }, context: { arguments: others } };
    return (await client.request("completion/complete", params)).completion?.values ?? [];
  };
}

/** @param {Done["kind"]} kind @param {any} item @param {any} input @param {Desk} desk @param {any} results */
async function run(kind, item, input, desk, results) {
  const controller = new AbortController();
  /** @type {Done} */ const entry = { kind, name: item.name ?? item.uri, input, time: Date.now(), state: "running" };
  const begin = performance.now();
  const state = h("span", { class: "badge running", role: "status" }, "running");
  const cancel = button("Cancel", () => controller.abort());
  const bar = h("progress", { hidden: true, "aria-label": "Progress" });
  const word = h("span", { class: "hint" });
  const body = h("div");
  const view = h("section", { class: "outcome", "aria-label": `Result of ${entry.name}` },
    h("div", { class: "head" }, state, word, bar, cancel), body);
  entry.view = view;
  results.prepend(view);
  // The latest results stay in sight, the others are in the history.
  while (results.children.length > 5) results.lastElementChild.remove();
  desk.started(entry);

  const tick = setInterval(() => (word.textContent = words()), 500);
  let said = "";
  const words = () => [duration(performance.now() - begin), said].filter(Boolean).join(" · ");
  const progress = (/** @type {any} */ { progress, total, message }) => {
    bar.hidden = false;
    if (total) {
      bar.max = total;
      bar.value = progress;
    } else bar.removeAttribute("value");
    said = [`${progress}${total ? ` of ${total}` : ""}`, message].filter(Boolean).join(" · ");
    word.textContent = words();
  };

  const app = kind === "tools" && pageOf(item) ? showApp(item, appHost(desk)) : null;
  if (app) {
    view.append(app.element);
    app.input(input);
  }
  try {
    const result = await desk.client.request(methodOf(kind), paramsOf(kind, item, input), { signal: controller.signal, progress });
    app?.result(result);
    finish(result.isError ? "failed" : "ok");
    body.append(viewOf(kind, result, desk.open), h("details", null, h("summary", null, "JSON"), lazily(() => rawView(result))));
  } catch (error) {
    const isCancelled = controller.signal.aborted;
    app?.cancelled(isCancelled ? "cancelled by the user" : String(error));
    finish(isCancelled ? "cancelled" : "failed");
    if (!isCancelled) body.append(errorView(error));
  }

  function finish(/** @type {Done["state"]} */ outcome) {
    clearInterval(tick);
    entry.state = outcome;
    entry.took = performance.now() - begin;
    state.textContent = outcome;
    state.className = `badge ${outcome}`;
    word.textContent = duration(entry.took);
    bar.remove();
    cancel.remove();
    desk.changed();
  }
}

/** A body of `details` that is made when it is opened. @param {() => any} make */
function lazily(make) {
  const body = h("div");
  queueMicrotask(() => body.parentElement?.addEventListener("toggle", () => body.append(make()), { once: true }));
  return body;
}

/** @param {Done["kind"]} kind */
function methodOf(kind) {
  return kind === "tools" ? "tools/call" : kind === "prompts" ? "prompts/get" : "resources/read";
}

/** @param {Done["kind"]} kind @param {any} item @param {any} input */
function paramsOf(kind, item, input) {
  if (kind === "resources") return { uri: item.uri };
  if (kind === "templates") return { uri: expand(item.uriTemplate, input) };
  return { name: item.name, arguments: input };
}

/** @param {Done["kind"]} kind @param {any} result @param {(uri: string) => void} open */
function viewOf(kind, result, open) {
  if (kind === "tools") return resultView(result, open);
  return kind === "prompts" ? messagesView(result.messages ?? [], open) : resourceView(result, open);
}

/** @param {any} error */
function errorView(error) {
  const code = error instanceof RpcError ? ` (${error.code})` : "";
  return h("div", { class: "result failed" }, h("p", { class: "problem", role: "alert" }, `${error.message}${code}`),
    error.data !== undefined && tree(error.data, 2));
}

/** @param {Desk} desk */
function appHost(desk) {
  return {
    request: (/** @type {string} */ method, /** @type {any} */ params) => desk.client.request(method, params),
    tools: desk.tools,
    server: () => desk.client.server,
  };
}
