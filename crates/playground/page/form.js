// Forms made from JSON Schemas. Each control reads to one value of JSON, and is written from one.

import { button, h, newId } from "./dom.js";
import { booleanControl, choiceControl, Invalid, jsonControl, numberControl, same, stringControl } from "./fields.js";
import { format, parse } from "./json.js";
import { limits, shape } from "./schema.js";
import { faults } from "./validate.js";

/** The levels of a form; deeper values are entered as JSON. */
const MAX_DEPTH = 8;
/** The pause before values are compared with the schema, in milliseconds. */
const CHECK_PAUSE = 200;

/** @typedef {import("./fields.js").Control} Control */
/** @typedef {import("./fields.js").Place} Place */
/** @typedef {(name: string, value: string, others: any) => Promise<string[]>} Complete */

/**
 * A form for a schema, which can be switched to JSON.
 *
 * @param {any} schema
 * @param {{submit: string, onsubmit: (value: any) => void, complete?: Complete, actions?: any[]}} options
 * @returns {{element: any, read: () => any, write: (value: any) => void}}
 */
export function form(schema, { submit, onsubmit, complete, actions = [] }) {
  const fields = control(schema, { root: schema, depth: 0, label: "Arguments" }, complete);
  const text = h("textarea", { class: "json", rows: 10, spellcheck: false, "aria-label": "Arguments as JSON" });
  const problem = h("p", { class: "problem", role: "alert" });
  const hints = h("ul", { class: "faults" });
  let isJson = false;
  const readJson = () => {
    try {
      return parse(text.value.trim() || "{}");
    } catch (error) {
      throw new Invalid(text, `not JSON: ${/** @type {Error} */ (error).message}`);
    }
  };
  const read = () => (isJson ? readJson() : fields.read());
  /** @param {() => void} action */
  const attempt = (action) => {
    problem.textContent = "";
    for (const field of element.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
    try {
      action();
    } catch (error) {
      if (!(error instanceof Invalid)) throw error;
      problem.textContent = error.message;
      error.element?.setAttribute("aria-invalid", "true");
      error.element?.focus();
    }
  };
  // The server has the last word, so that a person can see what it says.
  const compare = () => {
    let found;
    try {
      found = faults(read(), schema);
    } catch (error) {
      found = isJson ? [/** @type {Error} */ (error).message] : [];
    }
    hints.replaceChildren(...(found ?? ["the schema is too large to be compared with here"]).map((fault) => h("li", null, fault)));
  };
  /** @type {ReturnType<typeof setTimeout>} */ let timer;
  const plan = () => {
    clearTimeout(timer);
    timer = setTimeout(compare, CHECK_PAUSE);
  };
  const show = () => {
    text.hidden = !isJson;
    fields.element.hidden = isJson;
    toggle.textContent = isJson ? "Edit as form" : "Edit as JSON";
  };
  const toggle = button("Edit as JSON", () => attempt(() => {
    if (isJson) {
      fields.write(readJson());
      isJson = false;
    } else {
      // A form that cannot be read yet is edited as JSON from scratch.
      try {
        text.value = format(fields.read());
      } catch {
        text.value ||= "{}";
      }
      isJson = true;
    }
    show();
    plan();
  }), { class: "quiet" });
  const element = h("form", {
    oninput: plan,
    onchange: plan,
    class: "form",
    noValidate: true,
    onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      attempt(() => onsubmit(read()));
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) element.requestSubmit();
    },
  }, fields.element, text, problem, h("div", { role: "status" }, hints), h("div", { class: "actions" }, h("button", { class: "primary" }, submit), actions, toggle));
  show();
  const write = (/** @type {any} */ value) => {
    text.value = format(value);
    if (!isJson) fields.write(value);
  };
  return { element, read, write };
}

/**
 * The control for a schema.
 *
 * @param {any} schema
 * @param {Place} place
 * @param {Complete} [complete] for the members of an object
 * @returns {Control}
 */
function control(schema, place, complete) {
  const found = shape(schema, place.root);
  if (place.depth >= MAX_DEPTH) return jsonControl(found.schema, place);
  switch (found.kind) {
    case "choice": return choiceControl(found, place);
    case "boolean": return booleanControl(found.schema, place);
    case "integer": case "number": return numberControl(found.schema, place, found.kind);
    case "string": return stringControl(found.schema, place);
    case "null": return { element: h("span", { class: "hint" }, "null"), read: () => null, write: () => {} };
    case "object": return objectControl(found.schema, place, complete);
    case "list": return listControl(found.schema, place);
    case "tuple": return tupleControl(found.schema, place);
    case "union": return unionControl(found, place);
    default: return jsonControl(found.schema, place);
  }
}

/** @param {any} schema @param {Place} place @param {Complete} [complete] @returns {Control} */
function objectControl(schema, place, complete) {
  const required = new Set(schema.required ?? []);
  /** @type {Map<string, ReturnType<typeof member>>} */
  const members = new Map();
  const readOthers = (/** @type {string} */ name) => {
    const others = /** @type {Record<string, any>} */ ({});
    for (const [other, part] of members) {
      if (other !== name && part.isGiven()) others[other] = part.read();
    }
    return others;
  };
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const offer = complete && ((/** @type {string} */ value) => complete(name, value, readOthers(name)));
    const inside = { root: place.root, depth: place.depth + 1, label: name, complete: offer };
    members.set(name, member(name, property, inside, required.has(name)));
  }
  const more = schema.additionalProperties ?? (schema.properties ? false : true);
  const extra = more === false ? null : entries(more === true ? {} : more, place);
  const element = h("div", { class: "object", role: "group", "aria-label": place.label },
    [...members.values()].map(({ element }) => element), extra?.element);
  const read = () => {
    const value = /** @type {Record<string, any>} */ ({});
    for (const [name, part] of members) if (part.isGiven()) value[name] = part.read();
    return { ...value, ...extra?.read() };
  };
  const write = (/** @type {any} */ value) => {
    if (!value || typeof value !== "object" || Array.isArray(value)) {
      throw new Invalid(null, `${place.label}: ${format(value, 0)} is not an object`);
    }
    for (const [name, part] of members) part.write(value[name]);
    const rest = Object.entries(value).filter(([name]) => !members.has(name));
    if (extra) extra.write(Object.fromEntries(rest));
    else if (rest.length) throw new Invalid(null, `the form has no field for "${rest[0][0]}"`);
  };
  return { element, read, write };
}

/** A member of an object, which may be absent. @param {string} name @param {any} property @param {Place} place @param {boolean} isRequired */
function member(name, property, place, isRequired) {
  const { schema, kind } = shape(property, place.root);
  const isPlain = ["choice", "boolean", "integer", "number", "string", "any"].includes(kind);
  /** @type {Control | null} */ let inner = null;
  const body = h("div", { class: "control" });
  const box = isRequired ? null : h("input", {
    type: "checkbox",
    "aria-label": `Send ${name}`,
    onchange: () => show(),
  });
  const isGiven = () => !box || box.checked;
  // Made when it is shown: a schema may contain itself.
  const fill = () => {
    if (!inner) {
      inner = control(property, place);
      body.append(inner.element);
      if (inner.field) {
        inner.field.id ||= newId();
        label.setAttribute("for", inner.field.id);
      }
    }
    return inner;
  };
  const show = () => {
    if (isGiven() || isPlain) fill();
    body.hidden = !isPlain && !isGiven();
    element.classList.toggle("absent", !isGiven());
  };
  const include = () => {
    if (box && !box.checked) {
      box.checked = true;
      show();
    }
  };
  const label = h("label", { class: "name" }, name, isRequired && h("span", { class: "star", title: "required" }, " *"));
  const hint = [schema.title !== name && schema.title, schema.description, limits(schema)].filter(Boolean).join(" · ");
  const element = h("div", { class: "member", oninput: include, onchange: (/** @type {Event} */ event) => event.target !== box && include() },
    h("div", { class: "head" }, box, label, h("span", { class: "type" }, kind === "any" ? "JSON" : kind)),
    hint && h("p", { class: "hint" }, hint), body);
  show();
  return {
    element,
    isGiven,
    read: () => fill().read(),
    write: (/** @type {any} */ value) => {
      if (value === undefined) {
        if (box) box.checked = false;
      } else {
        if (box) box.checked = true;
        fill().write(value);
      }
      show();
    },
  };
}

/** Members with any name. @param {any} schema @param {Place} place */
function entries(schema, place) {
  /** @type {{name: any, value: Control, element: any}[]} */ let all = [];
  const rows = h("div", { class: "rows" });
  const add = (name = "", given = /** @type {any} */ (undefined)) => {
    const field = h("input", { type: "text", value: name, "aria-label": "Name", placeholder: "name" });
    const value = control(schema, { root: place.root, depth: place.depth + 1, label: "Value" });
    if (given !== undefined) value.write(given);
    const row = { name: field, value, element: h("div", { class: "row entry" }) };
    row.element.append(field, value.element, removal("entry", () => (all = without(all, row))));
    all.push(row);
    rows.append(row.element);
    return field;
  };
  const element = h("div", { class: "entries" }, rows, button("Add member", () => add().focus(), { class: "quiet" }));
  return {
    element,
    read: () => Object.fromEntries(all.map(({ name, value }) => [name.value, value.read()])),
    write: (/** @type {any} */ value) => {
      all = [];
      rows.replaceChildren();
      for (const [name, given] of Object.entries(value)) add(name, given);
    },
  };
}

/** @param {any} schema @param {Place} place @returns {Control} */
function listControl(schema, place) {
  const items = schema.items ?? {};
  const inner = shape(items, place.root);
  if (schema.uniqueItems !== false && inner.kind === "choice" && (inner.choices?.length ?? 99) <= 20) {
    return choicesControl(inner, place, schema);
  }
  /** @type {{item: Control, element: any}[]} */ let all = [];
  const rows = h("div", { class: "rows" });
  const add = (given = /** @type {any} */ (undefined)) => {
    const item = control(items, { root: place.root, depth: place.depth + 1, label: `${place.label} ${all.length + 1}` });
    if (given !== undefined) item.write(given);
    const row = { item, element: h("div", { class: "row" }) };
    row.element.append(item.element, removal("item", () => (all = without(all, row))));
    all.push(row);
    rows.append(row.element);
    return item;
  };
  const write = (/** @type {any} */ value) => {
    if (!Array.isArray(value)) throw new Invalid(null, `${place.label}: ${format(value, 0)} is not a list`);
    all = [];
    rows.replaceChildren();
    value.forEach(add);
  };
  if (Array.isArray(schema.default)) write(schema.default);
  else for (let count = 0; count < Math.min(schema.minItems ?? 0, 10); count += 1) add();
  const more = button("Add item", () => {
    add().field?.focus();
    more.dispatchEvent(new Event("input", { bubbles: true }));
  }, { class: "quiet" });
  const element = h("div", { class: "list", role: "group", "aria-label": place.label }, rows, more);
  return { element, read: () => all.map(({ item }) => item.read()), write };
}

/** Any of several choices. @param {any} inner @param {Place} place @param {any} schema @returns {Control} */
function choicesControl(inner, place, schema) {
  const boxes = inner.choices.map((/** @type {any} */ choice) => ({ choice, box: h("input", { type: "checkbox" }) }));
  const element = h("div", { class: "choices", role: "group", "aria-label": place.label },
    boxes.map((/** @type {any} */ { choice, box }) => h("label", null, box, ` ${choice.label}`)));
  const write = (/** @type {any} */ value) => {
    if (!Array.isArray(value)) throw new Invalid(null, `${place.label}: ${format(value, 0)} is not a list`);
    for (const { choice, box } of boxes) box.checked = value.some((item) => same(item, choice.value));
  };
  if (Array.isArray(schema.default)) write(schema.default);
  const chosen = () => boxes.filter((/** @type {any} */ { box }) => box.checked);
  return { element, read: () => chosen().map((/** @type {any} */ { choice }) => choice.value), write };
}

/** @param {any} schema @param {Place} place @returns {Control} */
function tupleControl(schema, place) {
  const schemas = schema.prefixItems ?? schema.items;
  const inside = { root: place.root, depth: place.depth + 1 };
  const parts = schemas.map((/** @type {any} */ item, /** @type {number} */ index) =>
    control(item, { ...inside, label: `${place.label} ${index + 1}` }));
  const element = h("div", { class: "list tuple", role: "group", "aria-label": place.label },
    parts.map((/** @type {Control} */ part) => h("div", { class: "row" }, part.element)));
  const write = (/** @type {any} */ value) => {
    if (!Array.isArray(value)) throw new Invalid(null, `${place.label}: ${format(value, 0)} is not a list`);
    parts.forEach((/** @type {Control} */ part, /** @type {number} */ index) => part.write(value[index]));
  };
  return { element, read: () => parts.map((/** @type {Control} */ part) => part.read()), write };
}

/** @param {any} found @param {Place} place @returns {Control} */
function unionControl({ variants, schema }, place) {
  /** @type {(Control | undefined)[]} */ const controls = [];
  const body = h("div", { class: "variant" });
  const field = h("select", { "aria-label": `Kind of ${place.label}`, onchange: () => show() },
    variants.map((/** @type {any} */ variant) => h("option", null, variant.label)));
  const at = (/** @type {number} */ index) =>
    (controls[index] ??= control(variants[index].schema, { root: place.root, depth: place.depth + 1, label: place.label }));
  const show = () => body.replaceChildren(at(field.selectedIndex).element);
  const write = (/** @type {any} */ value) => {
    const order = variants.map((/** @type {any} */ _, /** @type {number} */ index) => index);
    order.sort((/** @type {number} */ a, /** @type {number} */ b) => Number(fits(value, variants[b].schema, place.root)) - Number(fits(value, variants[a].schema, place.root)));
    for (const index of order) {
      try {
        at(index).write(value);
        field.selectedIndex = index;
        return show();
      } catch (error) {
        if (!(error instanceof Invalid)) throw error;
      }
    }
    throw new Invalid(field, `${place.label}: ${format(value, 0)} fits no variant`);
  };
  show();
  if (schema.default !== undefined) write(schema.default);
  const element = h("div", { class: "union" }, field, body);
  return { element, field, read: () => at(field.selectedIndex).read(), write };
}

/** True if a value may be meant for a schema: its type, and the constants of its members. @param {any} value @param {any} schema @param {any} root @returns {boolean} */
function fits(value, schema, root) {
  const { kind, choices } = shape(schema, root);
  switch (kind) {
    case "choice": return /** @type {any[]} */ (choices).some((choice) => same(choice.value, value));
    case "null": return value === null;
    case "list": case "tuple": return Array.isArray(value);
    case "integer": return Number.isInteger(value) || (typeof value === "object" && value !== null && !Array.isArray(value));
    case "object": {
      if (!value || typeof value !== "object" || Array.isArray(value)) return false;
      const required = schema.required ?? [];
      const members = Object.entries(schema.properties ?? {});
      return required.every((/** @type {string} */ name) => name in value) &&
        members.every(([name, member]) => shape(member, root).kind !== "choice" || !(name in value) || fits(value[name], member, root));
    }
    default: return kind === "any" || typeof value === kind;
  }
}

/** A button that removes its row. @param {string} what @param {() => void} remove */
function removal(what, remove) {
  const remover = button("×", () => {
    remover.parentElement.remove();
    remove();
  }, { class: "remove", "aria-label": `Remove ${what}` });
  return remover;
}

/** @template T @param {T[]} list @param {T} item */
function without(list, item) {
  return list.filter((other) => other !== item);
}
