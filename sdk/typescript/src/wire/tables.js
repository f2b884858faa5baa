/**
 * Reads and writes messages by tables of their fields, for all messages but the ones of calls.
 *
 * @module
 */

/** @import { Reader } from "./reader.js" */
/** @import { Writer } from "./writer.js" */

/**
 * A field: its key, its name, the method of `Reader` and `Writer` for its values or the message inside, and true for a list.
 *
 * @typedef {readonly [key: number, name: string, kind: string, isList?: boolean]} Field
 */
/** The fields of each message, in the order of their numbers. @typedef {Readonly<Record<string, readonly Field[]>>} Tables */

const NO_BYTES = new Uint8Array(0);

/** The value of an absent field, by the method for its values. @type {Readonly<Record<string, unknown>>} */
const ABSENT = { text: "", json: "", blob: NO_BYTES, bool: false, int32: 0, uint32: 0, int64: 0, uint64: 0 };

/**
 * Reads a message up to `end`. An earlier occurrence of it is merged.
 *
 * @param {Tables} tables
 * @param {string} kind
 * @param {Reader} r
 * @param {number} end
 * @param {any} [known]
 * @returns {any}
 */
export function readByTable(tables, kind, r, end, known) {
  const fields = tables[kind] ?? [];
  const m = known ?? {};
  if (!known) for (const [, name, of, isList] of fields) m[name] = isList ? [] : ABSENT[of];
  while (r.at < end) {
    const key = r.key();
    const field = fields.find((field) => field[0] === key);
    if (!field) {
      r.skip(key, end);
      continue;
    }
    const [, name, of, isList] = field;
    if (isList) r.count();
    const value =
      of in ABSENT
        ? /** @type {any} */ (r)[of](end)
        : readByTable(tables, of, r, r.length(end), isList ? undefined : m[name]);
    if (isList) m[name].push(value);
    else m[name] = value;
  }
  r.finish(end);
  return m;
}

/**
 * Writes a message.
 *
 * @param {Tables} tables
 * @param {string} kind
 * @param {Writer} w
 * @param {any} m
 */
export function writeByTable(tables, kind, w, m) {
  for (const [key, name, of, isList] of tables[kind] ?? []) {
    const value = m[name];
    const present = isList ? (value ?? []) : (of === "blob" ? value?.length : value) ? [value] : [];
    for (const one of present) {
      if (of in ABSENT) /** @type {any} */ (w)[of](key, one);
      else {
        const at = w.open(key);
        writeByTable(tables, of, w, one);
        w.close(at);
      }
    }
  }
}
