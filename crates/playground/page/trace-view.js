// The list of messages. Only the rows in sight are elements.

import { button, clock, download, h, size } from "./dom.js";
import { tree } from "./json.js";

/** The height of a row, in pixels; `style.css` has the same. */
const ROW = 28;
/** The rows beyond the edges. */
const OVERSCAN = 6;

/** @param {import("./trace.js").Trace} trace */
export function traceView(trace) {
  /** @type {import("./trace.js").Filter} */ const filter = { wire: "", kind: "", text: "" };
  let shown = [...trace.filtered(filter)];
  /** @type {import("./trace.js").Entry | null} */ let selected = null;
  let follows = true;
  let isPlanned = false;
  /** An entry was added between others, or dropped. */
  let isStale = false;

  const rows = h("div", { class: "rows" });
  const list = h("div", {
    class: "trace-list",
    role: "listbox",
    tabIndex: 0,
    "aria-label": "Messages",
    onscroll: () => {
      follows = list.scrollTop + list.clientHeight >= list.scrollHeight - ROW;
      draw();
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => move(event),
  }, rows);
  const detail = h("div", { class: "trace-detail", hidden: true, "aria-label": "Message", role: "region", tabIndex: -1 });
  const count = h("span", { class: "hint", role: "status" });

  const select = (/** @type {string} */ label, /** @type {"wire" | "kind"} */ name, /** @type {[string, string][]} */ options) =>
    h("select", { "aria-label": label, onchange: (/** @type {any} */ event) => {
      filter[name] = event.target.value;
      refilter();
    } }, options.map(([value, text]) => h("option", { value }, text)));
  const search = h("input", { type: "search", placeholder: "Search messages", "aria-label": "Search messages", oninput: () => {
    filter.text = search.value;
    refilter();
  } });
  const element = h("div", { class: "trace" },
    h("div", { class: "toolbar" }, search,
      select("Wire", "wire", [["", "Both wires"], ["mcp", "MCP"], ["tool", "Tool"]]),
      select("Kind", "kind", [["", "All kinds"], ["request", "Requests"], ["response", "Responses"], ["error", "Errors"], ["notification", "Notifications"]]),
      button("Export", () => download("trace.jsonl", trace.exported(filter), "application/jsonl")),
      button("Clear", () => {
        trace.clear();
        open(null);
        refilter();
      }), count),
    list, detail);

  function refilter() {
    shown = [...trace.filtered(filter)];
    follows = true;
    draw();
  }

  /** Draws once in a frame, however many messages come. */
  function plan() {
    if (isPlanned) return;
    isPlanned = true;
    requestAnimationFrame(() => {
      isPlanned = false;
      if (isStale) shown = [...trace.filtered(filter)];
      isStale = false;
      draw();
    });
  }

  function draw() {
    const height = `${shown.length * ROW}px`;
    if (rows.style.height !== height) rows.style.height = height;
    const total = `${shown.length}${shown.length === trace.entries.length ? "" : ` of ${trace.entries.length}`}`;
    if (count.textContent !== total) count.textContent = total;
    if (follows) list.scrollTop = list.scrollHeight;
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - OVERSCAN);
    const end = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + OVERSCAN);
    while (rows.children.length > end - first) rows.lastElementChild.remove();
    while (rows.children.length < end - first) rows.append(row());
    for (let place = first; place < end; place += 1) fill(rows.children[place - first], shown[place], place);
  }

  function row() {
    const parts = ["time", "arrow", "label", "size"].map((name) => h("span", { class: name }));
    return h("div", { class: "row", role: "option", onclick: (/** @type {any} */ event) => {
      open(shown[Number(event.currentTarget.dataset.place)]);
      draw();
    } }, parts);
  }

  /** @param {any} element @param {import("./trace.js").Entry} entry @param {number} place */
  function fill(element, entry, place) {
    element.style.transform = `translateY(${place * ROW}px)`;
    const isSelected = entry === selected;
    if (element.entry === entry && element.isSelected === isSelected && element.place === place) return;
    Object.assign(element, { entry, isSelected, place });
    element.dataset.place = place;
    element.id = `trace-${entry.seq}`;
    element.className = `row ${entry.wire} ${entry.kind}`;
    element.setAttribute("aria-selected", String(isSelected));
    const [time, arrow, label, bytes] = element.children;
    time.textContent = clock(entry.time);
    arrow.textContent = arrowOf(entry);
    label.textContent = entry.label;
    bytes.textContent = size(entry.size);
  }

  /** @param {import("./trace.js").Entry | null} entry */
  function open(entry) {
    selected = entry;
    detail.hidden = !entry;
    if (!entry) return detail.replaceChildren();
    list.setAttribute("aria-activedescendant", `trace-${entry.seq}`);
    const names = { client: "page → server", server: "server → page", bridge: "bridge → tool", tool: "tool → bridge" };
    detail.replaceChildren(
      h("div", { class: "head" }, h("strong", null, entry.label), h("span", { class: "hint" }, names[entry.from]),
        button("Copy", () => navigator.clipboard.writeText(trace.message(entry))),
        button("×", () => {
          open(null);
          draw();
        }, { class: "remove", "aria-label": "Close the message" })),
      tree(trace.value(entry), 3));
  }

  /** @param {KeyboardEvent} event */
  function move(event) {
    const steps = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity });
    if (event.key === "Escape") open(null);
    else if (!(event.key in steps) || shown.length === 0) return;
    else {
      const current = selected ? shown.indexOf(selected) : -1;
      const place = Math.max(0, Math.min(shown.length - 1, current + steps[event.key]));
      open(shown[place]);
      const top = place * ROW;
      if (top < list.scrollTop) list.scrollTop = top;
      else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
      follows = false;
    }
    event.preventDefault();
    draw();
  }

  new ResizeObserver(() => draw()).observe(list);
  return {
    element,
    /** A message was added. @param {import("./trace.js").Entry} entry */
    added(entry) {
      isStale ||= trace.entries.at(-1) !== entry;
      if (!isStale && trace.passes(entry, filter)) shown.push(entry);
      // The oldest ones were dropped.
      isStale ||= shown.length > trace.entries.length;
      plan();
    },
  };
}

/** @param {import("./trace.js").Entry} entry */
function arrowOf({ wire, from }) {
  const isOut = from === "client" || from === "bridge";
  return `${wire === "mcp" ? "MCP" : "tool"} ${isOut ? "→" : "←"}`;
}
