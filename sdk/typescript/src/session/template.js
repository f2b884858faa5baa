/**
 * The variables of a URI that fits a template of RFC 6570.
 *
 * A template is a list of pieces: a text, and a gap for a value. A table says from which piece and position the rest of the
 * URI can be matched; it is filled from the end of the URI, so the work is at most the product of the two lengths, for any
 * template and any URI.
 *
 * @module
 */

import { encoded, encodedWithPlaces } from "./uri.js";

/**
 * The place of a value: the characters that it does not have, the least number of them, and whether it is short or long.
 *
 * @typedef {{ name: string, without: string, least: number, isShort: boolean }} Gap
 */

/** One of several texts, and perhaps a gap. @typedef {{ texts: string[], gap?: Gap, isOptional: boolean }} Piece */

/** @typedef {{ text: string, places: number[] }} Uri */

/** @type {Map<string, Piece[]>} */
const compiled = new Map();

/**
 * @param {string} template
 * @param {string} uri
 * @returns {Record<string, string> | undefined} nothing if the URI does not fit
 */
export function matchTemplate(template, uri) {
  let pieces = compiled.get(template);
  if (!pieces) compiled.set(template, (pieces = compile(template)));
  const whole = encodedWithPlaces(uri);
  const [first] = pieces;
  // Most URIs differ from most templates in the first letters.
  if (first && !first.isOptional && !whole.text.startsWith(first.texts[0] ?? "")) return undefined;
  const rows = fill(pieces, whole);
  if (!rows[0]?.[0]) return undefined;
  /** @type {Record<string, string>} */
  const params = {};
  let at = 0;
  pieces.forEach((piece, index) => {
    const after = /** @type {Uint8Array} */ (rows[index + 1]);
    const found = take(piece, at, after, whole);
    // A piece that is optional has been left out.
    if (!found) return;
    const { start, end } = found;
    if (piece.gap) params[piece.gap.name] = decode(uri.slice(whole.places[start], whole.places[end]));
    at = end;
  });
  return params;
}

/**
 * For each piece and position, 1 if this piece and the others behind it match the rest of the URI; and a row for the end.
 *
 * @param {Piece[]} pieces
 * @param {Uri} uri
 */
function fill(pieces, uri) {
  const { text } = uri;
  let after = new Uint8Array(text.length + 1);
  after[text.length] = 1;
  const rows = [after];
  for (const { texts, gap, isOptional } of [...pieces].reverse()) {
    const begins = gap ? beginnings(gap, after, uri) : after;
    const row = isOptional ? after.slice() : new Uint8Array(text.length + 1);
    for (const one of texts) {
      // Behind the end, an empty text is found at the end, again and again.
      for (let at = text.indexOf(one); at >= 0; at = at < text.length ? text.indexOf(one, at + 1) : -1) {
        if (begins[at + one.length] && isPlace(uri, at) && isPlace(uri, at + one.length)) row[at] = 1;
      }
    }
    rows.unshift((after = row));
  }
  return rows;
}

/**
 * The positions at which a gap can begin.
 *
 * @param {Gap} gap
 * @param {Uint8Array} after the positions at which it can end
 * @param {Uri} uri
 */
function beginnings({ without, least }, after, uri) {
  const { text } = uri;
  const row = new Uint8Array(text.length + 1);
  // True if the gap can end at a position behind this one.
  let isOpen = false;
  for (let at = text.length; at >= 0; at--) {
    const next = after[at + 1] === 1 && isPlace(uri, at + 1);
    isOpen = at < text.length && (isOpen || next) && !without.includes(text.charAt(at));
    if (isOpen || (!least && after[at])) row[at] = 1;
  }
  return row;
}

/**
 * The text and the value of a piece at a position: the longest value after which the rest can be matched, or the shortest.
 *
 * @param {Piece} piece
 * @param {number} at
 * @param {Uint8Array} after
 * @param {Uri} uri
 * @returns {{ start: number, end: number } | undefined}
 */
function take({ texts, gap }, at, after, uri) {
  const { text } = uri;
  const found = texts.find((one) => text.startsWith(one, at));
  if (found === undefined) return undefined;
  const start = at + found.length;
  if (!isPlace(uri, start)) return undefined;
  if (!gap) return after[start] ? { start, end: start } : undefined;
  let last = -1;
  for (let end = start; ; end++) {
    if (end >= start + gap.least && after[end] && isPlace(uri, end)) last = end;
    if ((gap.isShort && last >= 0) || end >= text.length || gap.without.includes(text.charAt(end))) break;
  }
  return last < 0 ? undefined : { start, end: last };
}

/**
 * True between two characters of the URI, false inside of an encoded one.
 *
 * @param {Uri} uri
 * @param {number} at
 */
const isPlace = ({ places }, at) => places[at] !== -1;

/**
 * @param {string} template
 * @returns {Piece[]}
 */
function compile(template) {
  const parts = template.split(/\{([^}]*)\}/);
  return parts.flatMap((part, index) => (index % 2 ? expression(part) : { texts: [encoded(part)], isOptional: false }));
}

/**
 * @param {string} text
 * @returns {Piece[]}
 */
function expression(text) {
  const operator = /^[+#./;?&]/.exec(text)?.[0] ?? "";
  const names = text
    .slice(operator.length)
    .split(",")
    .map((one) => one.replace(/\*$|:\d+$/, ""));
  const isOpen = operator === "+" || operator === "#";
  /** @type {(name: string) => Gap} */
  const value = (name) => ({ name, without: isOpen ? "" : "/?#&,;", least: 1, isShort: isOpen });
  switch (operator) {
    case "?":
    case "&":
      // Each variable may be absent.
      return names.map((name) => named(name, "?&", "&#"));
    case ";":
      return names.map((name) => named(name, ";", ";/?#"));
    case "/":
    case ".":
      return names.map((name) => ({ texts: [operator], gap: value(name), isOptional: false }));
    default:
      return names.map((name, index) => {
        const before = index ? "," : operator === "#" ? "#" : "";
        return { texts: [before], gap: value(name), isOptional: false };
      });
  }
}

/**
 * @param {string} name
 * @param {string} marks one of which stands before the name
 * @param {string} without
 * @returns {Piece}
 */
function named(name, marks, without) {
  const texts = [...marks].map((mark) => `${mark}${encoded(name)}=`);
  return { texts, gap: { name, without, least: 0, isShort: false }, isOptional: true };
}

/** @param {string} value */
function decode(value) {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
