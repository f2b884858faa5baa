// Reads the messages of the tool's wire, with the table of their fields in `envelope.json`.

import { parse } from "./json.js";

/** @typedef {Record<string, Record<string, [string, string]>>} Table */

const text = new TextDecoder();

/**
 * The message in a frame: four bytes of length, an envelope, and perhaps the bytes of a raw payload.
 *
 * @param {Uint8Array} frame which may have been cut
 * @param {Table} table
 * @param {boolean} [isPlain] as in the file of `pmcp record`: JSON in texts is text, and bytes are their number
 * @returns {any}
 */
export function readFrame(frame, table, isPlain = false) {
  if (frame.length < 4) return {};
  const length = new DataView(frame.buffer, frame.byteOffset).getUint32(0);
  const end = Math.min(4 + length, frame.length);
  const message = readMessage(frame.subarray(4, end), "Envelope", { table, isPlain });
  if (frame.length > end && isPlain) Object.assign(message.raw_header ?? message, { payload: { bytes: frame.length - end } });
  else if (frame.length > end) message.payload = text.decode(frame.subarray(end));
  return message;
}

/** @typedef {{table: Table, isPlain: boolean}} Reading */

/** @param {Uint8Array} bytes @param {string} name @param {Reading} how @returns {any} */
function readMessage(bytes, name, how) {
  const message = /** @type {Record<string, any>} */ ({});
  const input = { bytes, place: 0 };
  while (input.place < bytes.length) {
    const key = Number(varint(input));
    const [field, type] = how.table[name]?.[key >>> 3] ?? [`field ${key >>> 3}`, "bytes"];
    const kind = type.replace("[]", "");
    const values = read(input, key & 7, kind, field, how);
    if (values === undefined) break;
    if (type.endsWith("[]")) (message[field] ??= []).push(...values);
    else message[field] = values[0];
  }
  return message;
}

/** @param {{bytes: Uint8Array, place: number}} input @param {number} wire @param {string} kind @param {string} field @param {Reading} how @returns {any[] | undefined} */
function read(input, wire, kind, field, how) {
  switch (wire) {
    case 0: return [scalar(varint(input), kind)];
    case 1: case 5: {
      const width = wire === 1 ? 8 : 4;
      if (input.place + width > input.bytes.length) return undefined;
      const view = new DataView(input.bytes.buffer, input.bytes.byteOffset + input.place, width);
      input.place += width;
      return [wire === 1 ? view.getFloat64(0, true) : view.getFloat32(0, true)];
    }
    case 2: {
      const length = Number(varint(input));
      const part = input.bytes.subarray(input.place, input.place + length);
      const isCut = part.length < length;
      input.place += length;
      if (kind === "string") return [string(part, field, isCut, how)];
      if (kind === "bytes") return [how.isPlain ? { bytes: length } : `${length} bytes`];
      if (how.table[kind]) return [readMessage(part, kind, how)];
      const packed = { bytes: part, place: 0 };
      const values = [];
      while (packed.place < part.length) values.push(scalar(varint(packed), kind));
      return values;
    }
    default: return undefined;
  }
}

/** @param {Uint8Array} bytes @param {string} field @param {boolean} isCut @param {Reading} how */
function string(bytes, field, isCut, { isPlain }) {
  const found = text.decode(bytes);
  if (isCut) return `${found}… (cut)`;
  if (isPlain || !field.endsWith("_json") || found === "") return found;
  try {
    return parse(found);
  } catch {
    return found;
  }
}

/** @param {bigint} value @param {string} kind */
function scalar(value, kind) {
  if (kind === "bool") return value !== 0n;
  const signed = kind.startsWith("int") ? BigInt.asIntN(64, value) : value;
  return Number.isSafeInteger(Number(signed)) ? Number(signed) : String(signed);
}

/** @param {{bytes: Uint8Array, place: number}} input */
function varint(input) {
  let value = 0n;
  for (let shift = 0n; shift < 70n && input.place < input.bytes.length; shift += 7n) {
    const byte = input.bytes[input.place];
    input.place += 1;
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) break;
  }
  return value;
}

/** @param {string} base64 */
export function bytesOf(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let place = 0; place < binary.length; place += 1) bytes[place] = binary.charCodeAt(place);
  return bytes;
}
