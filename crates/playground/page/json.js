// JSON whose numbers keep all their digits, and its folded view.

import { button, h } from "./dom.js";

const HAS_RAW = typeof (/** @type {any} */ (JSON).rawJSON) === "function";

/**
 * Parses JSON. A number that JavaScript would round stays as it was written, if the browser can keep it.
 *
 * @param {string} text
 * @returns {any}
 */
export function parse(text) {
  // Only numbers of many digits are rounded, and a reviver is slow.
  if (!HAS_RAW || !/\d{16}|\de[+-]?\d/i.test(text)) return JSON.parse(text);
  const exact = (/** @type {string} */ _, /** @type {any} */ value, /** @type {any} */ context) =>
    typeof value === "number" && String(value) !== context?.source && isRounded(value, context?.source)
      ? /** @type {any} */ (JSON).rawJSON(context.source)
      : value;
  return JSON.parse(text, /** @type {any} */ (exact));
}

/** @param {number} value @param {string | undefined} source */
function isRounded(value, source) {
  return source !== undefined && (!Number.isFinite(value) || /\d{16}/.test(source.replace(".", "")));
}

/** @param {any} value @param {number} [indent] */
export function format(value, indent = 2) {
  return JSON.stringify(value, null, indent) ?? "undefined";
}

/** A number from text: exact if the browser can keep it. @param {string} text */
export function number(text) {
  return parse(text.trim());
}

/** @param {any} value */
function isRaw(value) {
  return HAS_RAW && /** @type {any} */ (JSON).isRawJSON(value);
}

/** The members that are shown first. */
const MEMBERS = 200;
/** The characters of a string that are shown first. */
const CHARACTERS = 10_000;

/**
 * JSON as a tree that can be folded. Members are made when they are shown.
 *
 * @param {any} value
 * @param {number} [depth] the levels that are open
 */
export function tree(value, depth = 2) {
  return h("div", { class: "tree" }, node(null, value, depth));
}

/** The most matches of a search. */
const MATCHES = 200;
/** The most values that a search looks at. */
const MAX_SEARCHED = 1_000_000;

/**
 * A tree with a search, which lists the values whose name or text contains the words, with their paths.
 *
 * @param {any} value
 * @param {number} [depth]
 */
export function searchable(value, depth = 3) {
  const whole = tree(value, depth);
  if (value === null || typeof value !== "object" || Object.keys(value).length === 0) return whole;
  const found = h("div", { class: "tree found", hidden: true });
  const search = h("input", { type: "search", placeholder: "Search in this JSON", "aria-label": "Search in this JSON", oninput: () => {
    const words = search.value.toLowerCase();
    found.hidden = !words;
    whole.hidden = Boolean(words);
    const rows = words ? matches(value, words) : [];
    found.replaceChildren(h("p", { class: "hint", role: "status" }, rows.length < MATCHES ? `${rows.length} found` : `the first ${MATCHES} that were found`),
      ...rows.map(([path, inner]) => node(path, inner, 0)));
  } });
  return h("div", { class: "searchable" }, search, found, whole);
}

/** @param {any} value @param {string} words @returns {[string, any][]} */
function matches(value, words) {
  const rows = /** @type {[string, any][]} */ ([]);
  // Without recursion: JSON can be deep.
  const open = /** @type {[string, string, any][]} */ ([["", "", value]]);
  for (let seen = 0; open.length > 0 && rows.length < MATCHES && seen < MAX_SEARCHED; seen += 1) {
    const [path, name, inner] = /** @type {[string, string, any]} */ (open.pop());
    const isLeaf = inner === null || typeof inner !== "object" || isRaw(inner);
    const text = isLeaf ? (isRaw(inner) ? inner.rawJSON : String(inner)) : "";
    if (name.toLowerCase().includes(words) || text.toLowerCase().includes(words)) rows.push([path, inner]);
    if (isLeaf) continue;
    const members = Object.entries(inner).map(([key, member]) => /** @type {[string, string, any]} */ ([`${path}/${key}`, key, member]));
    for (let place = members.length - 1; place >= 0; place -= 1) open.push(members[place]);
  }
  return rows;
}

/** @param {string | null} key @param {any} value @param {number} depth @returns {any} */
function node(key, value, depth) {
  const label = key === null ? null : h("span", { class: "key" }, `${key}: `);
  if (value === null || typeof value !== "object" || isRaw(value)) return h("div", null, label, leaf(value));
  const list = Array.isArray(value);
  const keys = Object.keys(value);
  const summary = list ? `[${keys.length}]` : `{${keys.length}}`;
  if (keys.length === 0) return h("div", null, label, list ? "[]" : "{}");
  const body = h("div", { class: "members" });
  let isFilled = false;
  const more = (/** @type {number} */ from) => {
    for (const key of keys.slice(from, from + MEMBERS)) body.append(node(key, value[key], depth - 1));
    const rest = keys.length - from - MEMBERS;
    if (rest > 0) {
      const next = button(`show ${Math.min(rest, MEMBERS)} of ${rest} more`, () => {
        next.remove();
        more(from + MEMBERS);
      });
      body.append(next);
    }
  };
  const fill = () => {
    if (!isFilled) more(0);
    isFilled = true;
  };
  const details = h("details", { ontoggle: () => details.open && fill() }, h("summary", null, label, summary), body);
  if (depth > 0) {
    fill();
    details.open = true;
  }
  return details;
}

/** @param {any} value */
function leaf(value) {
  if (isRaw(value)) return h("span", { class: "number" }, value.rawJSON);
  if (typeof value !== "string") return h("span", { class: value === null ? "null" : typeof value }, String(value));
  const shown = h("span", { class: "string" }, JSON.stringify(value.slice(0, CHARACTERS)));
  if (value.length <= CHARACTERS) return shown;
  const all = button(`show all ${value.length} characters`, () => {
    shown.textContent = JSON.stringify(value);
    all.remove();
  });
  return h("span", null, shown, all);
}
