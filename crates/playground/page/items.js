// One tool, resource, template or prompt: its form, its calls, and their results.

import { pageOf, showApp } from "./apps.js";
import { button, duration, h } from "./dom.js";
import { form } from "./form.js";
import { findingsView } from "./hosts.js";
import { tree } from "./json.js";
import { RpcError } from "./mcp.js";
import { messagesView, rawView, resourceView, resultView } from "./result.js";
import { follow, isTask } from "./tasks.js";
import { expand, variables } from "./uri.js";

/** The time that the server should keep a task, in milliseconds. */
const TASK_TIME = 3_600_000;
/** A page has to be opened before the call is sent again (2025-11-25, elicitation). */
const PAGE_REQUIRED = -32042;

/** @typedef {import("./history.js").Done} Done */

/**
 * @typedef {object} Desk
 * @property {import("./mcp.js").McpClient} client
 * @property {() => any[]} tools
 * @property {(entry: Done) => void} started
 * @property {() => void} changed
 * @property {(uri: string) => void} open shows a resource
 * @property {(method: string, params: any, signal: AbortSignal) => Promise<any>} ask asks the user
 * @property {(name: string) => import("./hosts.js").Seen | undefined} seen a tool as the chosen host sees it
 */

/**
 * The view of an item.
 *
 * @param {Done["kind"]} kind
 * @param {any} item
 * @param {Desk} desk
 * @returns {{element: any, read: () => any, write: (value: any) => void, show: (view: any) => void, submit: () => void}}
 */
export function itemView(kind, item, desk) {
  const results = h("div", { class: "results" });
  const asTask = kind === "tools" ? taskBox(item, desk) : null;
  const follows = kind === "resources" ? subscriptionBox(item, desk) : null;
  const fields = form(schemaOf(kind, item), {
    submit: kind === "tools" ? "Call" : kind === "prompts" ? "Get" : "Read",
    complete: completion(kind, item, desk),
    onsubmit: (input) => run({ kind, item, input, isTask: asTask?.box.checked ?? false }, desk, results),
    actions: [asTask?.element, follows],
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
    kind === "tools" && hostView(item, desk),
    fields.element,
    h("details", { class: "definition" }, h("summary", null, "Definition"), tree(item, 2)),
    results);
  const submit = () => fields.element.requestSubmit();
  return { element, read: fields.read, write: fields.write, show: (view) => results.replaceChildren(view), submit };
}

/** The choice to run a tool as a task (2025-11-25, tasks). @param {any} tool @param {Desk} desk */
function taskBox(tool, { client }) {
  const support = tool.execution?.taskSupport;
  if (support !== "optional" && support !== "required") return null;
  if (!client.server?.capabilities?.tasks?.requests?.tools?.call) return null;
  const box = h("input", { type: "checkbox", checked: support === "required", disabled: support === "required" });
  return { box, element: h("label", { class: "inline" }, box, " as a task") };
}

/** The choice to hear of changes of a resource. @param {any} resource @param {Desk} desk */
function subscriptionBox({ uri }, { client }) {
  if (!client.server?.capabilities?.resources?.subscribe) return null;
  const box = h("input", { type: "checkbox", checked: client.subscriptions.has(uri), onchange: () => {
    client.subscribe(uri, box.checked).catch(() => (box.checked = !box.checked));
  } });
  return h("label", { class: "inline" }, box, " subscribe to changes");
}

/** The tool as the chosen host sees it. @param {any} tool @param {Desk} desk */
function hostView(tool, { seen }) {
  const view = seen(tool.name);
  if (!view) return null;
  const isChanged = JSON.stringify(view.definition) !== JSON.stringify(tool);
  if (!isChanged && view.findings.length === 0) return h("p", { class: "hint" }, "The host sees it as it is.");
  return h("details", { class: "host-view", open: true }, h("summary", null, isChanged ? `The host sees ${view.name}` : "The host sees it as it is, with findings"),
    findingsView(view.findings), isChanged && tree(view.definition, 1));
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

/** @typedef {{kind: Done["kind"], item: any, input: any, isTask: boolean}} Call */

/** @param {Call} call @param {Desk} desk @param {any} results */
async function run(call, desk, results) {
  const { kind, item, input } = call;
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
  const tell = (/** @type {string} */ text) => {
    said = text;
    word.textContent = words();
  };
  const progress = (/** @type {any} */ { progress, total, message }) => {
    bar.hidden = false;
    if (total) {
      bar.max = total;
      bar.value = progress;
    } else bar.removeAttribute("value");
    tell([`${progress}${total ? ` of ${total}` : ""}`, message].filter(Boolean).join(" · "));
  };

  const app = kind === "tools" && pageOf(item) ? showApp(item, appHost(desk)) : null;
  if (app) {
    view.append(app.element);
    app.input(input);
  }
  try {
    const params = { ...paramsOf(kind, item, input), ...(call.isTask && { task: { ttl: TASK_TIME } }) };
    const { signal } = controller;
    const first = await desk.client.request(methodOf(kind), params, { signal, progress });
    const result = isTask(first) ? await follow(desk.client, first, signal, tell) : first;
    app?.result(result);
    finish(result.isError ? "failed" : "ok");
    body.append(viewOf(kind, result, desk.open), h("details", null, h("summary", null, "JSON"), lazily(() => rawView(result))));
  } catch (error) {
    const isCancelled = controller.signal.aborted;
    app?.cancelled(isCancelled ? "cancelled by the user" : String(error));
    finish(isCancelled ? "cancelled" : "failed");
    if (!isCancelled) body.append(errorView(error));
    if (/** @type {any} */ (error).code === PAGE_REQUIRED) body.append(pagesView(/** @type {any} */ (error).data, desk, () => run(call, desk, results)));
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

/** The pages that have to be opened before the call is sent again. @param {any} data @param {Desk} desk @param {() => void} repeat */
function pagesView(data, desk, repeat) {
  const pages = Array.isArray(data?.elicitations) ? data.elicitations : [];
  const again = button("Call again", repeat, { class: "primary" });
  const ask = async (/** @type {any} */ page, /** @type {any} */ state) => {
    const { action } = await desk.ask("elicitation/create", { ...page, mode: "url" }, new AbortController().signal);
    state.textContent = action === "accept" ? "opened" : action;
  };
  return h("div", { class: "pages" }, pages.map((/** @type {any} */ page) => {
    const state = h("span", { class: "hint", role: "status" });
    return h("p", null, `${page.message ?? "A page has to be opened."} `, button("Show the page", () => ask(page, state)), " ", state);
  }), h("div", { class: "actions" }, again));
}

/** @param {Desk} desk */
function appHost(desk) {
  return {
    request: (/** @type {string} */ method, /** @type {any} */ params) => desk.client.request(method, params),
    tools: desk.tools,
    server: () => desk.client.server,
  };
}
