// The list of messages. Only the rows in sight are elements.

import { button, clock, download, duration, h, size } from "./dom.js";
import { searchable } from "./json.js";
import { curl, exported, hasCurl, readTrace } from "./trace-file.js";

/** The height of a row, in pixels; `style.css` has the same. */
const ROW = 28;
/** The rows beyond the edges. */
const OVERSCAN = 6;

/**
 * @typedef {object} Desk
 * @property {string} token
 * @property {(text: string) => void} toast
 * @property {(name: string) => any} tool the definition of a tool
 * @property {(message: any) => void} repeat opens the item of a request and sends it again
 */

/** @param {import("./trace.js").Trace} live @param {Desk} desk */
export function traceView(live, desk) {
  /** @type {import("./trace.js").Filter} */ const filter = { wire: "", kind: "", text: "" };
  /** The messages of the page, or of a file. */ let trace = live;
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
  const detail = h("div", { class: "trace-detail", hidden: true, "aria-label": "Message", role: "region", tabIndex: 0 });
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
  const file = h("input", { type: "file", accept: ".jsonl,application/jsonl", hidden: true, "aria-label": "Trace to import", onchange: async () => {
    const [chosen] = file.files;
    file.value = "";
    if (chosen) await attempt("import", async () => change(await readTrace(chosen, live.table)));
  } });
  const source = h("div", { class: "row source", hidden: true });
  const element = h("div", { class: "trace" },
    h("div", { class: "toolbar" }, search,
      select("Wire", "wire", [["", "Both wires"], ["mcp", "MCP"], ["tool", "Tool"]]),
      select("Kind", "kind", [["", "All kinds"], ["request", "Requests"], ["response", "Responses"], ["error", "Errors"], ["notification", "Notifications"]]),
      button("Export", () => save("trace"), { title: "Save what is listed as a trace, without secrets" }),
      button("As scenario", () => save("scenario"), { title: "Save what is listed as a test, without secrets" }),
      button("Import", () => file.click(), { title: "Show a trace of pmcp record" }), file,
      button("Clear", () => {
        trace.clear();
        open(null);
        refilter();
      }), count),
    source, list, detail);

  /** @param {string} what @param {() => Promise<void>} action */
  async function attempt(what, action) {
    try {
      await action();
    } catch (error) {
      desk.toast(`The ${what} failed: ${/** @type {Error} */ (error).message}`);
    }
  }

  /** @param {"trace" | "scenario"} form */
  function save(form) {
    return attempt("export", async () => {
      const text = await exported(trace, trace.filtered(filter), form, desk.token);
      if (form === "trace") download("trace.jsonl", text, "application/jsonl");
      else download("scenario.yaml", text, "application/yaml");
    });
  }

  /** Shows other messages. @param {import("./trace.js").Trace} next */
  function change(next) {
    trace = next;
    source.hidden = trace === live;
    source.replaceChildren(h("span", null, `Messages of ${trace.file}`), button("Back to this page", () => change(live)));
    open(null);
    refilter();
  }

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
    const drawn = selected ? [...rows.children].find((element) => /** @type {any} */ (element).entry === selected) : null;
    if (drawn) list.setAttribute("aria-activedescendant", drawn.id);
    else list.removeAttribute("aria-activedescendant");
  }

  function row() {
    const parts = ["time", "arrow", "label", "took", "size"].map((name) => h("span", { class: name }));
    return h("div", { class: "row", role: "option", onclick: (/** @type {any} */ event) => {
      follows = false;
      open(shown[Number(event.currentTarget.dataset.place)]);
      draw();
    } }, parts);
  }

  /** @param {any} element @param {import("./trace.js").Entry} entry @param {number} place */
  function fill(element, entry, place) {
    element.style.transform = `translateY(${place * ROW}px)`;
    const isSelected = entry === selected;
    const { took } = entry;
    if (element.entry === entry && element.isSelected === isSelected && element.place === place && element.took === took) return;
    Object.assign(element, { entry, isSelected, place, took });
    element.dataset.place = place;
    element.id = `trace-${entry.seq}`;
    element.className = `row ${entry.wire} ${entry.kind}`;
    element.setAttribute("aria-selected", String(isSelected));
    const [time, arrow, label, bar, bytes] = element.children;
    time.textContent = trace.file ? `+${(entry.time / 1000).toFixed(3)} s` : clock(entry.time);
    arrow.textContent = arrowOf(entry);
    label.textContent = entry.label;
    bar.textContent = took === undefined ? "" : duration(took);
    bar.style.setProperty("--part", took === undefined ? "0%" : `${partOf(took)}%`);
    bytes.textContent = size(entry.size);
  }

  /** @param {import("./trace.js").Entry | null} entry */
  function open(entry) {
    selected = entry;
    detail.hidden = !entry;
    if (!entry) return detail.replaceChildren();
    const names = { client: "page → server", server: "server → page", bridge: "bridge → tool", tool: "tool → bridge" };
    const how = { token: desk.token, url: `${location.origin}/mcp`, tool: desk.tool };
    const copyCurl = () => attempt("copy", async () => {
      await navigator.clipboard.writeText(await curl(trace, entry, how));
      desk.toast("Copied; $PMCP_TOKEN is the part of this page's URL after token=");
    });
    detail.replaceChildren(
      h("div", { class: "head" }, h("strong", null, entry.label),
        h("span", { class: "hint" }, [names[entry.from], entry.took !== undefined && `answered after ${duration(entry.took)}`].filter(Boolean).join(", ")),
        button("Copy", () => navigator.clipboard.writeText(trace.message(entry))),
        hasCurl(entry) && button("As curl", copyCurl, { title: "Copy a command line that sends it again, without secrets" }),
        hasCurl(entry) && /^(tools\/call|prompts\/get|resources\/read)$/.test(entry.label) && button("Repeat", () => desk.repeat(trace.value(entry))),
        button("×", () => {
          open(null);
          draw();
        }, { class: "remove", "aria-label": "Close the message" })),
      searchable(trace.value(entry), 3));
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
    /** A message of the page was added. @param {import("./trace.js").Entry} entry */
    added(entry) {
      if (trace !== live) return;
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

/** The length of a bar: from 1 ms to 100 s, by the logarithm. @param {number} took */
function partOf(took) {
  return Math.round(Math.min(1, Math.log10(Math.max(took, 1)) / 5) * 100);
}
