// Controls for one value: text, numbers, choices, and JSON.

import { h, newId } from "./dom.js";
import { format, number, parse } from "./json.js";

/** The pause before a completion is asked for, in milliseconds. */
const COMPLETION_PAUSE = 150;

/**
 * @typedef {object} Control
 * @property {any} element
 * @property {() => any} read throws an `Invalid` for input that has no value
 * @property {(value: any) => void} write
 * @property {any} [field] the element that a label names
 */

/** @typedef {{root: any, depth: number, label: string, complete?: (value: string) => Promise<string[]>}} Place */

/** Input without a value. */
export class Invalid extends Error {
  /** @param {any} element @param {string} message */
  constructor(element, message) {
    super(message);
    this.element = element;
  }
}

/** @param {any} found @param {Place} place @returns {Control} */
export function choiceControl({ choices, schema }, { label }) {
  const preset = choices.findIndex((/** @type {any} */ { value }) => same(value, schema.default));
  const options = choices.map((/** @type {any} */ choice, /** @type {number} */ index) =>
    h("option", { value: String(index) }, choice.label));
  const field = h("select", { "aria-label": label }, options);
  field.selectedIndex = Math.max(preset, 0);
  return {
    element: field,
    field,
    read: () => choices[field.selectedIndex].value,
    write: (value) => {
      const index = choices.findIndex((/** @type {any} */ choice) => same(choice.value, value));
      if (index < 0) throw new Invalid(field, `${label}: ${format(value, 0)} is not one of the choices`);
      field.selectedIndex = index;
    },
  };
}

/** @param {any} schema @param {Place} place @returns {Control} */
export function booleanControl(schema, { label }) {
  const field = h("select", { "aria-label": label }, h("option", null, "false"), h("option", null, "true"));
  field.selectedIndex = schema.default === true ? 1 : 0;
  const write = (/** @type {any} */ value) => {
    if (typeof value !== "boolean") throw new Invalid(field, `${label}: ${format(value, 0)} is not true or false`);
    field.selectedIndex = Number(value);
  };
  return { element: field, field, read: () => field.selectedIndex === 1, write };
}

/** @param {any} schema @param {Place} place @param {string} kind @returns {Control} */
export function numberControl(schema, { label }, kind) {
  const field = h("input", { type: "text", inputMode: "decimal", "aria-label": label, autocomplete: "off" });
  if (schema.default !== undefined) field.value = format(schema.default, 0);
  const read = () => {
    let value;
    try {
      value = number(field.value);
    } catch {
      throw new Invalid(field, field.value ? `${label}: ${field.value} is not a number` : `${label} is missing`);
    }
    const isRaw = typeof value === "object" && value !== null;
    if (typeof value !== "number" && !isRaw) throw new Invalid(field, `${label}: ${field.value} is not a number`);
    if (kind === "integer" && !isRaw && !Number.isInteger(value)) {
      throw new Invalid(field, `${label}: ${field.value} is not a whole number`);
    }
    return value;
  };
  return { element: field, field, read, write: (value) => void (field.value = format(value, 0)) };
}

/** A time with its zone (RFC 3339), entered as a time of this machine. @param {any} schema @param {Place} place @returns {Control} */
function momentControl(schema, { label }) {
  const field = h("input", { type: "datetime-local", step: "0.001", "aria-label": label });
  const write = (/** @type {any} */ value) => {
    const moment = new Date(value);
    if (typeof value !== "string" || Number.isNaN(moment.getTime())) throw new Invalid(field, `${label}: ${format(value, 0)} is not a time`);
    const local = new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000);
    field.value = local.toISOString().slice(0, 23);
  };
  const read = () => {
    if (!field.value) throw new Invalid(field, `${label} is missing`);
    return new Date(field.value).toISOString();
  };
  if (typeof schema.default === "string" && !Number.isNaN(Date.parse(schema.default))) write(schema.default);
  return { element: field, field, read, write };
}

const INPUT_TYPES = /** @type {Record<string, string>} */ ({ date: "date", time: "time", email: "email", uri: "url" });

/** @param {any} schema @param {Place} place @returns {Control} */
export function stringControl(schema, place) {
  const { label, complete } = place;
  if (schema.format === "date-time" && !complete) return momentControl(schema, place);
  const type = INPUT_TYPES[schema.format];
  const list = complete && h("datalist", { id: newId() });
  const field = type || complete
    ? h("input", { type: type ?? "text", "aria-label": label, autocomplete: "off", step: type === "time" ? 1 : undefined })
    : h("textarea", { rows: 1, "aria-label": label });
  if (list) {
    field.setAttribute("list", list.id);
    suggest(field, list, /** @type {any} */ (complete));
  }
  if (typeof schema.default === "string") field.value = schema.default;
  const isBinary = schema.contentEncoding === "base64" || /^(byte|binary|base64)$/.test(schema.format);
  const file = isBinary && h("input", {
    type: "file",
    accept: schema.contentMediaType,
    "aria-label": `File for ${label}`,
    onchange: async () => {
      const bytes = new Uint8Array(await file.files[0].arrayBuffer());
      let binary = "";
      for (const byte of bytes) binary += String.fromCharCode(byte);
      field.value = btoa(binary);
      field.dispatchEvent(new Event("input", { bubbles: true }));
    },
  });
  const write = (/** @type {any} */ value) => {
    if (typeof value !== "string") throw new Invalid(field, `${label}: ${format(value, 0)} is not text`);
    field.value = value;
  };
  const element = list || file ? h("span", { class: "with-list" }, field, list, file) : field;
  return { element, field, read: () => field.value, write };
}

/** Offers completions while the user types. @param {any} field @param {any} list @param {(value: string) => Promise<string[]>} complete */
function suggest(field, list, complete) {
  let latest = 0;
  const ask = async () => {
    const number = (latest += 1);
    await new Promise((resolve) => setTimeout(resolve, COMPLETION_PAUSE));
    if (number !== latest) return;
    const values = await complete(field.value).catch(() => []);
    if (number === latest) list.replaceChildren(...values.map((value) => h("option", { value })));
  };
  field.addEventListener("input", ask);
  field.addEventListener("focus", ask);
}

/** @param {any} schema @param {Place} place @returns {Control} */
export function jsonControl(schema, { label }) {
  const field = h("textarea", { class: "json", rows: 2, spellcheck: false, "aria-label": `${label} as JSON`, placeholder: "JSON" });
  if (schema?.default !== undefined) field.value = format(schema.default);
  const read = () => {
    try {
      return parse(field.value);
    } catch (error) {
      const why = field.value.trim() ? `not JSON: ${/** @type {Error} */ (error).message}` : "is missing (JSON)";
      throw new Invalid(field, `${label}: ${why}`);
    }
  };
  return { element: field, field, read, write: (value) => void (field.value = format(value)) };
}

/** @param {any} a @param {any} b */
export function same(a, b) {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
