// The session with the server: its revision, what the server says about itself, the roots, and its tasks.

import { button, h } from "./dom.js";
import { isStateless, REVISIONS } from "./eras.js";
import { tree } from "./json.js";

const ROOTS = "pmcp-roots";

/** @typedef {{uri: string, name?: string}} Root */

/**
 * @param {import("./mcp.js").McpClient} client
 * @param {(text: string) => void} toast
 */
export function sessionView(client, toast) {
  /** @type {Root[]} */ let roots = load();
  const server = h("div", { class: "server" });
  const tasks = h("div");
  const choice = h("select", {
    id: "revision",
    onchange: () => {
      localStorage.setItem("pmcp-revision", choice.value);
      client.change(choice.value);
    },
  }, REVISIONS.map((revision) => h("option", { value: revision }, `${revision}, ${isStateless(revision) ? "without sessions" : "with a session"}`)));
  choice.value = client.revision;
  const rows = h("div", { class: "rows" });
  const element = h("div", { class: "session" },
    h("label", { class: "name", for: "revision" }, "Revision of MCP"), choice,
    section("Roots", h("p", { class: "hint" }, "The folders that a tool gets when it asks for them."), rows,
      button("Add root", () => row({ uri: "file:///" }).focus(), { class: "quiet" })),
    section("Tasks", tasks), section("Server", server));

  /** @param {Root} root */
  function row(root) {
    const uri = h("input", { type: "text", value: root.uri, "aria-label": "URI of the root", onchange: save });
    const name = h("input", { type: "text", value: root.name ?? "", "aria-label": "Name of the root", placeholder: "name", onchange: save });
    const line = h("div", { class: "row entry" }, uri, name, button("×", () => (line.remove(), save()), { class: "remove", "aria-label": "Remove root" }));
    rows.append(line);
    return uri;
  }

  function save() {
    const texts = [...rows.children].map((line) => [...line.querySelectorAll("input")].map(({ value }) => value.trim()));
    roots = texts.filter(([uri]) => uri).map(([uri, name]) => ({ uri, ...(name && { name }) }));
    localStorage.setItem(ROOTS, JSON.stringify(roots));
    client.notify("notifications/roots/list_changed").catch((error) => toast(`The roots could not be told: ${error.message}`));
  }

  async function listTasks() {
    const all = await client.list("tasks/list", "tasks");
    const cancel = (/** @type {any} */ task) => button("Cancel", () => client.request("tasks/cancel", { taskId: task.taskId })
      .then(drawTasks, (error) => toast(error.message)), { "aria-label": `Cancel ${task.taskId}` });
    tasks.replaceChildren(refresh(), ...all.map((task) => h("div", { class: "row" },
      h("span", null, h("code", null, task.taskId), " ", h("span", { class: "badge" }, task.status)),
      /^(working|input_required)$/.test(task.status) && cancel(task))));
    if (all.length === 0) tasks.append(h("p", { class: "hint" }, "There is no task."));
  }

  const refresh = () => button("List tasks", drawTasks, { class: "quiet" });
  function drawTasks() {
    listTasks().catch((error) => toast(`The tasks could not be listed: ${error.message}`));
  }

  roots.forEach(row);
  return {
    element,
    /** The answer to `roots/list`. */
    roots: () => ({ roots }),
    /** The server is connected. */
    draw() {
      const { protocolVersion, serverInfo, instructions, capabilities } = client.server;
      const hasList = capabilities?.tasks?.list;
      tasks.replaceChildren(hasList ? refresh() : h("p", { class: "hint" }, "The server lists no tasks."));
      server.replaceChildren(
        h("p", null, h("strong", null, serverInfo.title ?? serverInfo.name), ` ${serverInfo.version ?? ""}`),
        h("p", { class: "hint" }, `speaks ${protocolVersion}`),
        instructions ? h("p", { class: "text" }, instructions) : "",
        tree(capabilities ?? {}, 2));
    },
  };
}

/** @param {string} title @param {...any} body */
function section(title, ...body) {
  return h("section", null, h("h3", null, title), body);
}

/** @returns {Root[]} */
function load() {
  try {
    const kept = JSON.parse(localStorage.getItem(ROOTS) ?? "[]");
    return Array.isArray(kept) ? kept.filter((root) => typeof root?.uri === "string") : [];
  } catch {
    return [];
  }
}
