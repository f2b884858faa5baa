// The latest requests of the user. Their arguments outlive a reload of the page, their results do not.

import { button, clock, drawList, duration, h, setChildren } from "./dom.js";

const MAX_ENTRIES = 200;
/** The longest arguments that are kept for later, in characters. */
const MAX_KEPT = 20_000;
const KEY = "pmcp-history";

/**
 * @typedef {object} Done
 * @property {"tools" | "resources" | "templates" | "prompts"} kind
 * @property {string} name
 * @property {any} input
 * @property {number} time
 * @property {number} [took] in milliseconds
 * @property {"running" | "ok" | "failed" | "cancelled"} state
 * @property {any} [view] the element with the result
 */

/** @param {(entry: Done) => void} open @param {(entry: Done) => void} repeat */
export function history(open, repeat) {
  /** @type {Done[]} */ let entries = load();
  const list = h("ul", { class: "items" });
  const hint = h("p", { class: "hint" }, "Nothing was called yet.");
  const element = h("div");

  function draw() {
    drawList(list, entries, (entry) => entry, row, ({ firstChild }, entry) => firstChild.replaceChildren(
      h("span", { class: "title" }, entry.name),
      h("span", { class: `badge ${entry.state}` }, entry.state),
      h("span", { class: "hint" }, [clock(entry.time).slice(0, 8), entry.took !== undefined && duration(entry.took)].filter(Boolean).join(" · "))));
    setChildren(element, entries.length > 0 ? [list] : [hint]);
  }

  /** @param {Done} entry */
  function row(entry) {
    return h("li", { class: "past" }, h("button", { type: "button", class: "item", onclick: () => open(entry) }),
      button("↻", () => repeat(entry), { class: "remove", title: "Send it again", "aria-label": `Repeat ${entry.name}` }));
  }

  function keep() {
    const kept = entries.map(({ view, ...entry }) => entry).filter((entry) => JSON.stringify(entry.input ?? null).length <= MAX_KEPT);
    try {
      sessionStorage.setItem(KEY, JSON.stringify(kept));
    } catch {
      // The browser stores no more, and the list lives as long as the page.
    }
  }

  draw();
  return {
    element,
    count: () => entries.length,
    /** @param {Done} entry */
    add(entry) {
      entries = [entry, ...entries].slice(0, MAX_ENTRIES);
      draw();
    },
    /** An entry has changed. */
    changed() {
      draw();
      keep();
    },
    clear() {
      entries = [];
      draw();
      keep();
    },
  };
}

/** @returns {Done[]} */
function load() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return kept.map((/** @type {Done} */ entry) => (entry.state === "running" ? { ...entry, state: "cancelled" } : entry));
  } catch {
    return [];
  }
}
