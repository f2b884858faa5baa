// The page: connects, and puts the parts together.

import { isForAppsOnly } from "./apps.js";
import { byId, clock, drawList, h, setChildren } from "./dom.js";
import { isStateless, REVISIONS } from "./eras.js";
import { followEvents } from "./events.js";
import { history } from "./history.js";
import { hostViews } from "./hosts.js";
import { itemView } from "./items.js";
import { McpClient } from "./mcp.js";
import { questions } from "./questions.js";
import { sessionView } from "./session-view.js";
import { traceView } from "./trace-view.js";
import { Trace } from "./trace.js";

/** The most lines of the log. */
const MAX_LINES = 2000;
/** The time for which a change is marked, in milliseconds. */
const MARKED = 8000;
/** The pause in which several changes of lists become one, in milliseconds. */
const LIST_PAUSE = 50;

/** @typedef {"tools" | "resources" | "templates" | "prompts"} Kind */

/** @type {Record<Kind, {label: string, method: string, member: string, capability: string}>} */
const KINDS = {
  tools: { label: "Tools", method: "tools/list", member: "tools", capability: "tools" },
  resources: { label: "Resources", method: "resources/list", member: "resources", capability: "resources" },
  templates: { label: "Templates", method: "resources/templates/list", member: "resourceTemplates", capability: "resources" },
  prompts: { label: "Prompts", method: "prompts/list", member: "prompts", capability: "prompts" },
};

const token = takeToken();
const trace = new Trace();
const messages = traceView(trace, {
  token,
  toast,
  tool: (name) => toolOf(name),
  repeat,
});
/** @type {Record<Kind, any[]>} */ const lists = { tools: [], resources: [], templates: [], prompts: [] };
/** @type {Map<string, string>} */ const marks = new Map();
const items = h("ul", { class: "items" });
/** @type {Kind | "history"} */ let tab = "tools";
/** @type {{kind: Kind, name: string, text: string, view: ReturnType<typeof itemView>} | null} */ let shown = null;

const kept = localStorage.getItem("pmcp-revision") ?? "";
const client = new McpClient("/mcp", token, REVISIONS.includes(kept) ? kept : REVISIONS[0], {
  message: (from, text, message) => messages.added(trace.mcp(from, text, message)),
  notified,
  asked,
  state: connection,
  tool: (name) => toolOf(name),
});
const past = history((entry) => void reopen(entry), (entry) => {
  if (reopen({ ...entry, view: undefined })) shown?.view.submit();
});
const session = sessionView(client, toast);
const hosts = hostViews(token, () => lists.tools, () => (draw(), reshow()), toast);
const asker = questions(byId("questions"), openResource);
const desk = {
  client,
  tools: () => lists.tools,
  started: (/** @type {any} */ entry) => (past.add(entry), draw()),
  changed: past.changed,
  open: openResource,
  ask: asked,
  seen: hosts.of,
};

/** The secret in the URL, which leaves the address bar and the history of the browser. It stays for reloads of this tab. */
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem("pmcp-token", given);
    window.history.replaceState(null, "", location.pathname);
  }
  return given ?? sessionStorage.getItem("pmcp-token") ?? "";
}

/** @param {string} name */
function toolOf(name) {
  return lists.tools.find((tool) => tool.name === name);
}

/** Answers a question of the server. @param {string} method @param {any} params @param {AbortSignal} signal */
async function asked(method, params, signal) {
  if (method === "roots/list") return session.roots();
  view("item");
  return asker.answer(method, params, signal);
}

/** Shows an item with what it was called with. @param {import("./history.js").Done} entry @returns {boolean} */
function reopen(entry) {
  if (!openItem(entry.kind, entry.name)) {
    toast(`There is no ${entry.name} any longer.`);
    return false;
  }
  try {
    if (entry.input !== undefined) shown?.view.write(entry.input);
  } catch (error) {
    toast(`The form has changed: ${/** @type {Error} */ (error).message}`);
    return false;
  }
  if (entry.view) shown?.view.show(entry.view);
  return true;
}

/** Sends a request of the trace again. @param {any} message */
function repeat({ method, params }) {
  const kind = method === "tools/call" ? "tools" : method === "prompts/get" ? "prompts" : "resources";
  const name = params.name ?? params.uri;
  const entry = { kind: /** @type {Kind} */ (kind), name, input: kind === "resources" ? undefined : params.arguments ?? {}, time: Date.now(), state: /** @type {const} */ ("ok") };
  if (reopen(entry)) shown?.view.submit();
}

/** The name of an item, unique among its kind. @param {Kind} kind @param {any} item @returns {string} */
function nameOf(kind, item) {
  return kind === "resources" ? item.uri : item.name;
}

// Lists

let isPlanned = false;
function planLists() {
  if (isPlanned) return;
  isPlanned = true;
  setTimeout(async () => {
    isPlanned = false;
    await readLists().catch((error) => toast(`The lists could not be read: ${error.message}`));
  }, LIST_PAUSE);
}

async function readLists() {
  const isFirst = !document.body.dataset.ready;
  const capabilities = client.server?.capabilities ?? {};
  const kinds = /** @type {Kind[]} */ (Object.keys(KINDS));
  const read = async (/** @type {Kind} */ kind) => (capabilities[KINDS[kind].capability] ? client.list(KINDS[kind].method, KINDS[kind].member) : []);
  const all = await Promise.all(kinds.map(read));
  const changes = kinds.flatMap((kind, place) => replace(kind, all[place]));
  document.body.dataset.ready = "true";
  draw();
  refresh();
  hosts.refresh();
  if (!isFirst && changes.length) toast(`Changed: ${changes.join(", ")}`);
}

/** Replaces a list; returns what has changed. @param {Kind} kind @param {any[]} items */
function replace(kind, items) {
  const before = new Map(lists[kind].map((item) => [nameOf(kind, item), JSON.stringify(item)]));
  lists[kind] = items;
  const changes = [];
  for (const item of items) {
    const name = nameOf(kind, item);
    const old = before.get(name);
    if (old !== JSON.stringify(item) && document.body.dataset.ready) {
      const mark = old === undefined ? "new" : "changed";
      changes.push(`${mark === "new" ? "+" : "~"}${name}`);
      marks.set(`${kind} ${name}`, mark);
      setTimeout(() => (marks.delete(`${kind} ${name}`), draw()), MARKED);
    }
    before.delete(name);
  }
  return [...changes, ...[...before.keys()].map((name) => `−${name}`)];
}

/** Shows the new definition of the item that is open, with the values in its form. */
function refresh() {
  if (!shown) return;
  const { kind, name, text, view: old } = shown;
  const item = lists[kind].find((item) => nameOf(kind, item) === name);
  if (item && JSON.stringify(item) !== text) reshow();
}

/** Shows the item that is open anew, with the values in its form. */
function reshow() {
  if (!shown) return;
  const { kind, name, view: old } = shown;
  let input;
  try {
    input = old.read();
  } catch {
    // Values that cannot be read are lost with their form.
  }
  const results = [...byId("item").querySelectorAll(".results > *")];
  openItem(kind, name, false);
  try {
    if (input !== undefined) shown.view.write(input);
  } catch {
    // They do not fit the new definition.
  }
  byId("item").querySelector(".results").append(...results);
}

// Items

/** @param {Kind} kind @param {string} name @param {boolean} [moves] @returns {boolean} */
function openItem(kind, name, moves = true) {
  const item = lists[kind].find((item) => nameOf(kind, item) === name) ??
    (kind === "resources" ? { uri: name, name } : undefined);
  if (!item) return false;
  const made = itemView(kind, item, desk);
  shown = { kind, name, text: JSON.stringify(item), view: made };
  byId("item").replaceChildren(made.element);
  draw();
  if (moves) {
    view("item");
    byId("work").scrollTop = 0;
    made.element.querySelector("h2")?.focus({ preventScroll: true });
  }
  return true;
}

/** @param {string} uri */
function openResource(uri) {
  if (openItem("resources", uri)) byId("item").querySelector("form")?.requestSubmit();
}

function draw() {
  const kinds = /** @type {(Kind | "history")[]} */ ([...Object.keys(KINDS), "history"]);
  drawList(byId("tabs"), kinds, (kind) => kind, tabOf, (button, kind) => {
    button.setAttribute("aria-selected", String(kind === tab));
    button.tabIndex = kind === tab ? 0 : -1;
    button.lastChild.textContent = String(kind === "history" ? past.count() : lists[kind].length);
  });
  byId("items").setAttribute("aria-labelledby", `tab-${tab}`);
  hosts.element.classList.toggle("elsewhere", tab !== "tools");
  const own = tab === "history" ? past.element : listView(tab);
  setChildren(byId("items"), [tab === "tools" && hosts.summary(), own].filter(Boolean));
}

/** @param {Kind | "history"} kind */
function tabOf(kind) {
  return h("button", { type: "button", role: "tab", id: `tab-${kind}`, "aria-controls": "items", onclick: () => choose(kind) },
    kind === "history" ? "History" : KINDS[kind].label, " ", h("span", { class: "count" }));
}

/** @param {Kind} kind */
function listView(kind) {
  const wanted = byId("search").value.toLowerCase();
  const found = lists[kind].filter((item) => !wanted || JSON.stringify([item.name, item.title, item.description, item.uri]).toLowerCase().includes(wanted));
  if (found.length === 0) return h("p", { class: "hint" }, wanted ? "Nothing matches." : "There is nothing here.");
  const keyOf = (/** @type {any} */ item) => `${kind} ${nameOf(kind, item)}`;
  drawList(items, found, keyOf, () => h("li", null, h("button", { type: "button", class: "item" })), ({ firstChild: button }, item) => {
    const name = nameOf(kind, item);
    const mark = marks.get(keyOf(item));
    button.onclick = () => openItem(kind, name);
    if (shown?.kind === kind && shown.name === name) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
    button.replaceChildren(h("span", null, h("span", { class: "title" }, item.title ?? item.name),
      mark && h("span", { class: `badge ${mark}` }, mark),
      kind === "tools" && hostBadge(item),
      kind === "tools" && isForAppsOnly(item) && h("span", { class: "badge" }, "app only"),
      h("span", { class: "hint line" }, item.description ?? item.uri ?? item.uriTemplate ?? "")));
  });
  return items;
}

/** The name that the chosen host sees, and the number of its findings. @param {any} tool */
function hostBadge(tool) {
  const seen = hosts.of(tool.name);
  return seen && [seen.name !== tool.name && h("span", { class: "badge changed" }, seen.name),
    seen.findings.length > 0 && h("span", { class: "badge failed" }, `${seen.findings.length} found`)];
}

/** @param {Kind | "history"} kind */
function choose(kind) {
  tab = kind;
  draw();
}

// The connection

/** @param {string} method @param {any} params */
function notified(method, params) {
  if (method.endsWith("/list_changed")) planLists();
  else if (method === "notifications/message") {
    const { level = "info", logger, data } = params ?? {};
    log(`${logger ? `${logger}: ` : ""}${typeof data === "string" ? data : JSON.stringify(data)}`, level);
  } else if (method === "notifications/resources/updated") updated(params?.uri);
  else if (method === "notifications/elicitation/complete") toast("The page that a tool has opened is done.");
}

/** A resource that was subscribed to has changed. @param {string} uri */
function updated(uri) {
  marks.set(`resources ${uri}`, "changed");
  setTimeout(() => (marks.delete(`resources ${uri}`), draw()), MARKED);
  draw();
  toast(`${uri} has changed.`);
  if (shown?.kind === "resources" && shown.name === uri) shown.view.submit();
}

/** @param {string} state @param {string} [why] */
function connection(state, why) {
  const words = /** @type {Record<string, string>} */ ({
    connecting: "connecting", connected: "connected", lost: "connection lost", unauthorized: "wrong token",
  });
  const badge = byId("state");
  badge.textContent = words[state];
  badge.className = `badge ${state}`;
  badge.title = why ?? "";
  if (state === "connected") {
    const { name, version } = client.server.serverInfo;
    byId("server").textContent = `${name} ${version}`;
    session.draw();
    setLevel();
    planLists();
  } else if (state === "unauthorized") {
    byId("item").replaceChildren(h("p", { class: "problem", role: "alert" }, "Open the URL that pmcp playground has printed: it contains the token."));
  }
}

/** @param {string} line @param {string} level @param {number} [time] */
function log(line, level, time = Date.now()) {
  const container = byId("log");
  const follows = container.scrollTop + container.clientHeight >= container.scrollHeight - 8;
  container.append(h("p", { class: level }, h("span", { class: "time" }, clock(time)), " ", line));
  while (container.children.length > MAX_LINES) container.firstElementChild.remove();
  if (follows) container.scrollTop = container.scrollHeight;
}

let toasts = 0;
/** @param {string} text */
function toast(text) {
  const number = (toasts += 1);
  byId("toast").textContent = text;
  setTimeout(() => number === toasts && (byId("toast").textContent = ""), 6000);
}

async function reload() {
  toast("Reloading");
  const response = await fetch("/api/reload", { method: "POST", headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) toast(`The reload failed with status ${response.status}.`);
}

/** @param {any} event */
function take(event) {
  if (event.type === "trace") messages.added(trace.tool(event));
  else if (event.type === "log") log(event.data.line, "pmcp", event.time);
  else if (event.type === "sign_in") {
    // One that was asked for before is over.
    if (event.time >= performance.timeOrigin) asker.signIn(event.data.url);
  } else if (event.type === "lost") log(`${event.data} events were not seen`, "warning");
}

// The frame of the page

/** The part that a narrow screen shows. @param {string} name */
function view(name) {
  document.body.dataset.view = name;
  for (const button of document.querySelectorAll("#views button")) {
    button.setAttribute("aria-current", String(/** @type {HTMLElement} */ (button).dataset.view === name));
  }
}

function theme(/** @type {string} */ name) {
  document.documentElement.dataset.theme = name;
  localStorage.setItem("pmcp-theme", name);
}

/** @param {KeyboardEvent} event */
function press(event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.role === "tab" && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
    const tabs = /** @type {HTMLElement[]} */ ([...(target.parentElement?.querySelectorAll("[role=tab]") ?? [])]);
    const next = tabs[(tabs.indexOf(target) + (event.key === "ArrowRight" ? 1 : tabs.length - 1)) % tabs.length];
    const { id } = next;
    next.click();
    byId(id).focus();
  } else if (/^(ArrowDown|ArrowUp)$/.test(event.key) && target.matches(".item")) {
    const items = /** @type {HTMLElement[]} */ ([...byId("items").querySelectorAll(".item")]);
    items[items.indexOf(target) + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
  } else if (target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  else if (event.key === "/") {
    view("browse");
    byId("search").focus();
  } else if (event.key === "r") reload();
  else return;
  event.preventDefault();
}

function sideTab(/** @type {"trace" | "log" | "session"} */ name) {
  byId("level").hidden = name !== "log";
  for (const other of ["trace", "log", "session"]) {
    byId(other).hidden = other !== name;
    byId(`tab-${other}`).setAttribute("aria-selected", String(other === name));
  }
}

/** Asks for log messages of the chosen level. */
async function setLevel() {
  const level = byId("level").value;
  if (level || isStateless(client.revision)) await client.setLevel(level).catch((error) => toast(`The level could not be set: ${error.message}`));
}

byId("level").append(...["", "debug", "info", "notice", "warning", "error", "critical"].map((level) => h("option", { value: level }, level || "usual level")));
byId("level").addEventListener("change", setLevel);
byId("trace").append(messages.element);
byId("session").append(session.element);
byId("search").after(hosts.element);
byId("tab-session").addEventListener("click", () => sideTab("session"));
byId("search").addEventListener("input", draw);
byId("reload").addEventListener("click", reload);
byId("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
byId("tab-trace").addEventListener("click", () => sideTab("trace"));
byId("tab-log").addEventListener("click", () => sideTab("log"));
for (const button of document.querySelectorAll("#views button")) {
  button.addEventListener("click", () => view(/** @type {string} */ (/** @type {HTMLElement} */ (button).dataset.view)));
}
document.addEventListener("keydown", press);
theme(localStorage.getItem("pmcp-theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
draw();
trace.table = await (await fetch("/envelope.json")).json();
client.run();
followEvents(token, take);
