/**
 * The known name that a misspelt one is probably meant to be.
 *
 * @module
 */

/** Longer names are not compared. */
const LONGEST = 64;

/**
 * @param {string} name
 * @param {Iterable<string>} known
 * @returns {string | undefined}
 */
export function nearest(name, known) {
  if (name.length > LONGEST) return undefined;
  let best,
    least = Math.floor(name.length / 3) + 1;
  for (const other of known) {
    if (other.length > LONGEST) continue;
    const far = other.toLowerCase() === name.toLowerCase() ? 0 : distance(name, other);
    if (far < least) [best, least] = [other, far];
  }
  return best;
}

/**
 * The edits between two texts: a letter more, less, another one, or two that are exchanged.
 *
 * @param {string} a
 * @param {string} b
 */
function distance(a, b) {
  /** @type {number[]} */
  let before = [],
    last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let edits = Math.min(num(last[j]) + 1, num(row[j - 1]) + 1, num(last[j - 1]) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, num(before[j - 2]) + 1);
      row.push(edits);
    }
    [before, last] = [last, row];
  }
  return num(last[b.length]);
}

/** @param {number | undefined} value */
const num = (value) => value ?? Infinity;
