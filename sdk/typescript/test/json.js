// Messages in the JSON form of the vectors: names of the document, no default values, bytes in base64.
import { readFileSync } from "node:fs";

import { parse } from "../scripts/generate.js";

const PROTO = new URL("../../../proto/protomcp.proto", import.meta.url);
const MESSAGES = new Map(parse(readFileSync(PROTO, "utf8")).map(({ name, fields }) => [name, fields]));

export const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function valueToJson(field, value) {
  if (MESSAGES.has(field.type)) return messageToJson(field.type, value);
  if (field.type === "bytes") return Buffer.from(value).toString("base64");
  return field.type.endsWith("64") ? String(value) : value;
}

function messageToJson(type, message) {
  const json = {};
  for (const field of MESSAGES.get(type)) {
    const value = message[field.name];
    if (field.repeated) {
      if (value.length) json[snake(field.name)] = value.map((one) => valueToJson(field, one));
    } else if (MESSAGES.has(field.type) ? value !== undefined : value && value.length !== 0) {
      json[snake(field.name)] = valueToJson(field, value);
    }
  }
  return json;
}

function valueFromJson(field, value) {
  if (MESSAGES.has(field.type)) return messageFromJson(field.type, value);
  if (field.type === "bytes") return Buffer.from(value, "base64");
  return field.type.endsWith("64") ? BigInt(value) : value;
}

function messageFromJson(type, json) {
  const message = {};
  for (const field of MESSAGES.get(type)) {
    const value = json[snake(field.name)];
    if (value === undefined) continue;
    message[field.name] = field.repeated ? value.map((one) => valueFromJson(field, one)) : valueFromJson(field, value);
  }
  return message;
}

const isMessage = (field) => field.oneof;
const FIELDS = MESSAGES.get("Envelope");
MESSAGES.set(
  "Rest",
  FIELDS.filter((field) => !field.oneof),
);

export function envelopeToJson({ kind, message, ...rest }) {
  const field = FIELDS.filter(isMessage).find((field) => field.name === kind);
  return { ...(field && { [snake(kind)]: messageToJson(field.type, message) }), ...messageToJson("Rest", rest) };
}

export function envelopeFromJson(json) {
  const field = FIELDS.filter(isMessage).find((one) => snake(one.name) in json);
  const message = field ? messageFromJson(field.type, json[snake(field.name)]) : {};
  return { kind: field?.name ?? "", message, ...messageFromJson("Rest", json) };
}

export const rawToJson = (header) => messageToJson("RawHeader", header);
