// Elements, without a framework.

let ids = 0;

/** An id that no other element has. */
export function newId() {
  ids += 1;
  return `e${ids}`;
}

/**
 * An element. Properties that begin with "on" are listeners, `class` and names with a hyphen are attributes, all others are
 * properties of the element.
 *
 * @param {string} name
 * @param {Record<string, any> | null} [properties]
 * @param {...any} children text, elements, or lists of them; null and false are left out
 * @returns {any}
 */
export function h(name, properties, ...children) {
  const element = /** @type {any} */ (document.createElement(name));
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class" || key === "for" || key.includes("-") || key === "role") {
      if (value !== false) element.setAttribute(key, value === true ? "" : String(value));
    } else element[key] = value;
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/**
 * Replaces the children of an element. Those that stay are not moved if their order stays, so that they keep their focus, and
 * a press that has begun on them.
 *
 * @param {any} parent
 * @param {any[]} children elements
 */
export function setChildren(parent, children) {
  const stay = new Set(children);
  for (const child of [...parent.children]) if (!stay.has(child)) child.remove();
  children.forEach((child, place) => {
    if (parent.children[place] !== child) parent.insertBefore(child, parent.children[place] ?? null);
  });
}

/**
 * Draws a list anew, with one child for each value. The child of a key that was drawn before stays: only `fill` changes it.
 * What `fill` replaces takes no presses (`pointer-events: none`).
 *
 * @template T
 * @param {any} parent
 * @param {T[]} values
 * @param {(value: T) => unknown} key
 * @param {(value: T) => any} make makes the child of a new key
 * @param {(child: any, value: T) => void} fill
 */
export function drawList(parent, values, key, make, fill) {
  const before = new Map([...parent.children].map((child) => [child.key, child]));
  setChildren(parent, values.map((value) => {
    const name = key(value);
    const child = before.get(name) ?? Object.assign(make(value), { key: name });
    before.delete(name);
    fill(child, value);
    return child;
  }));
}

/** A button. @param {string} text @param {() => void} onclick @param {Record<string, any>} [properties] */
export function button(text, onclick, properties = {}) {
  return h("button", { type: "button", onclick, ...properties }, text);
}

/** @param {string} id @returns {any} */
export function byId(id) {
  return document.getElementById(id);
}

/** Offers bytes or text as a file. @param {string} name @param {BlobPart} content @param {string} type */
export function download(name, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A number of bytes, for people. @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const [divisor, unit] = bytes < 1_000_000 ? [1000, "kB"] : [1_000_000, "MB"];
  return `${(bytes / divisor).toFixed(bytes / divisor < 10 ? 1 : 0)} ${unit}`;
}

/** A time span, for people. @param {number} milliseconds */
export function duration(milliseconds) {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  return seconds < 60 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** A time of day with milliseconds. @param {number} time */
export function clock(time) {
  const at = new Date(time);
  const two = (/** @type {number} */ part) => String(part).padStart(2, "0");
  const rest = String(at.getMilliseconds()).padStart(3, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${rest}`;
}
