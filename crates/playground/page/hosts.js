// The tools as hosts see them: their names and schemas, and what a host would refuse.

import { h } from "./dom.js";

/** @typedef {{name: string, definition: any, findings: any[]}} Seen */

/**
 * @param {string} token
 * @param {() => any[]} tools
 * @param {() => void} changed
 * @param {(text: string) => void} toast
 */
export function hostViews(token, tools, changed, toast) {
  /** @type {Map<string, Seen>} */ let seen = new Map();
  let total = 0;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const choice = h("select", { "aria-label": "Tools as seen by", onchange: () => read() }, h("option", { value: "" }, "as the server lists them"));
  const element = h("div", { class: "hosts", hidden: true }, choice);

  async function fill() {
    const response = await fetch("/api/hosts", { headers });
    if (!response.ok) return;
    for (const { id, label } of await response.json()) choice.append(h("option", { value: id }, `as ${label} sees them`));
    element.hidden = choice.options.length < 2;
  }

  async function read() {
    seen = new Map();
    const host = choice.value;
    const own = tools();
    if (host) {
      const response = await fetch("/api/host-view", { method: "POST", headers, body: JSON.stringify({ host, tools: own }) });
      const view = await response.json();
      if (choice.value !== host) return;
      if (!response.ok) toast(`The view of the host failed: ${view.error}`);
      else take(own, view);
    }
    changed();
  }

  /** @param {any[]} own @param {any} view */
  function take(own, { tools, report }) {
    total = report.tokens.total;
    const of = (/** @type {string | null} */ name) => report.findings.filter((/** @type {any} */ finding) => finding.tool === name);
    own.forEach((tool, place) => seen.set(tool.name, { name: tools[place].name, definition: tools[place], findings: of(tool.name) }));
    seen.set("", { name: "", definition: null, findings: of(null) });
  }

  fill().catch(() => {});
  return {
    element,
    /** The list of tools has changed. */
    refresh: () => (choice.value ? read().catch((error) => toast(error.message)) : Promise.resolve()),
    /** A tool as the host sees it; `undefined` without a host. @param {string} name */
    of: (name) => seen.get(name),
    /** Facts about the whole list. */
    summary() {
      const whole = seen.get("");
      return whole && h("div", { class: "hint" }, `about ${total} tokens in each conversation`, findingsView(whole.findings));
    },
  };
}

/** @param {any[]} findings */
export function findingsView(findings) {
  return findings.length > 0 && h("ul", { class: "findings" }, findings.map(({ severity, where, issue, fix, rules }) => h("li", { class: severity },
    h("strong", null, `${where}: ${issue}`),
    h("span", { class: "hint" }, ` ${rules.map((/** @type {any} */ rule) => rule.why).join("; ")}. ${fix}`))));
}
