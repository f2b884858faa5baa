/**
 * URIs in the form in which they are compared: RFC 3986, 6.2.2.
 *
 * @module
 */

import { Buffer } from "node:buffer";

/**
 * A character that is percent-encoded, or has to be: all but the unreserved and the reserved ones. Of the reserved ones,
 * brackets stand raw in hosts alone (RFC 3986, 3.2.2), and some clients encode them.
 */
const UNIT = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~:/?#@!$&'()*+,;=]/gu;

/**
 * The encoded form of a URI, or of a literal of a template (RFC 6570, 3.1): digits of escapes are upper case, and
 * unreserved characters raw.
 *
 * @param {string} text
 */
export const encoded = (text) => text.replace(UNIT, encodedUnit);

/**
 * A URI in its encoded form, with the position in the URI for each position in the form. Inside of a character that is
 * encoded there is none: -1.
 *
 * @param {string} uri
 * @returns {{ text: string, places: number[] }}
 */
export function encodedWithPlaces(uri) {
  /** @type {number[]} */
  const places = [];
  let last = 0;
  const text = uri.replace(UNIT, (unit, /** @type {number} */ start) => {
    while (last < start) places.push(last++);
    const form = encodedUnit(unit);
    places.push(start, ...Array(form.length - 1).fill(-1));
    last = start + unit.length;
    return form;
  });
  while (last <= uri.length) places.push(last++);
  return { text, places };
}

/** @param {string} unit */
function encodedUnit(unit) {
  if (unit.length !== 3 || unit[0] !== "%") {
    return [...Buffer.from(unit)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join("");
  }
  const character = String.fromCharCode(parseInt(unit.slice(1), 16));
  return /[A-Za-z0-9\-._~]/.test(character) ? character : unit.toUpperCase();
}
