// Messages as files: the traces of `pmcp record`, scenarios of `pmcp test`, and command lines of curl. The server replaces
// secrets in everything that leaves the page.

import { bytesOf, readFrame } from "./envelope.js";
import { metadata, requestHeaders } from "./eras.js";
import { format, parse } from "./json.js";
import { Trace } from "./trace.js";

/** The longest file that is read, in bytes. */
const MAX_FILE = 268_435_456;
/** The longest request for an export, in characters. */
const MAX_EXPORT = 60_000_000;

/** @typedef {import("./trace.js").Entry} Entry */

/**
 * The messages of a file of `pmcp record`, of version 1 or 2.
 *
 * @param {File} file
 * @param {import("./envelope.js").Table} table
 */
export async function readTrace(file, table) {
  if (file.size > MAX_FILE) throw new Error(`the file has more than ${MAX_FILE} bytes`);
  const [head, ...lines] = (await file.text()).replace(/^\ufeff/, "").split("\n").filter((line) => line.trim());
  let header;
  try {
    header = JSON.parse(head ?? "");
  } catch {
    // Not a trace, as below.
  }
  if (header?.trace !== "mcp") throw new Error("the first line is not the header of a trace of pmcp record");
  if (header.version !== 1 && header.version !== 2) throw new Error(`the trace has version ${header.version}, and this page reads versions 1 and 2`);
  const trace = new Trace();
  trace.table = table;
  trace.file = file.name;
  lines.forEach((line, place) => {
    try {
      add(trace, parse(line));
    } catch (error) {
      throw new Error(`line ${place + 2}: ${/** @type {Error} */ (error).message}`);
    }
  });
  return trace;
}

/** @param {Trace} trace @param {any} line */
function add(trace, { at, from, session = 1, message }) {
  if (!Number.isFinite(at) || !message || typeof message !== "object") throw new Error("it is not a message of a trace");
  if (from === "client" || from === "server") trace.mcp(from, format(message, 0), message, at, session);
  else if (from === "bridge" || from === "tool") trace.envelope(from, message, at);
  else throw new Error(`unknown sender ${from}`);
}

/**
 * A file of messages without their secrets.
 *
 * @param {Trace} trace
 * @param {Entry[]} entries
 * @param {"trace" | "scenario"} form
 * @param {string} token
 * @returns {Promise<string>}
 */
export async function exported(trace, entries, form, token) {
  const begin = Math.min(...entries.map(({ time }) => time));
  const lines = entries.map((entry) => format({
    at: Math.max(0, Math.round(entry.time - (entries.length ? begin : 0))),
    from: entry.from,
    session: entry.session,
    message: messageOf(trace, entry),
  }, 0));
  const body = `{"form":${JSON.stringify(form)},"entries":[${lines.join(",")}]}`;
  if (body.length > MAX_EXPORT) throw new Error("the messages are too large for one file: filter them, or record with pmcp record");
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch("/api/export", { method: "POST", headers, body });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer.text;
}

/** The message as the file has it. Of one that was cut are its kind and its length. @param {Trace} trace @param {Entry} entry */
function messageOf(trace, entry) {
  const isRpc = entry.wire === "mcp" || !entry.isFrame;
  if (entry.isCut && isRpc) {
    const head = { jsonrpc: "2.0", ...(entry.id && { id: parse(entry.id) }) };
    const cut = { cut: true, length: entry.size };
    if (entry.kind === "response") return { ...head, result: cut };
    if (entry.kind === "error") return { ...head, error: { code: -32603, message: "cut", data: cut } };
    return { ...head, method: entry.label, params: cut };
  }
  if (entry.isCut) return { ...(entry.id && { request_id: entry.id }), [entry.label]: { bytes: entry.size } };
  return entry.isFrame ? readFrame(bytesOf(entry.text), trace.table, true) : parse(entry.text);
}

/** The methods that need no session. */
const ALONE = /^(tools\/(call|list)|resources\/(read|list|templates\/list)|prompts\/(get|list)|completion\/complete)$/;

/** True if a command line of curl can send the message again. @param {Entry} entry */
export function hasCurl(entry) {
  return entry.from === "client" && entry.kind === "request" && !entry.isCut && ALONE.test(entry.label);
}

/**
 * A command line that sends a request again, as one of 2026-07-28, which needs no session.
 *
 * @param {Trace} trace
 * @param {Entry} entry
 * @param {{token: string, url: string, tool: (name: string) => any}} how
 */
export async function curl(trace, entry, { token, url, tool }) {
  const [, line] = (await exported(trace, [entry], "trace", token)).trim().split("\n");
  const { method, params = {} } = parse(line).message;
  const { _meta, ...rest } = params;
  const { progressToken, ...other } = _meta ?? {};
  const message = { jsonrpc: "2.0", id: 1, method, params: { ...rest, _meta: { ...other, ...metadata("") } } };
  const fields = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...requestHeaders(method, rest, method === "tools/call" ? tool(rest.name) : undefined),
  };
  const headers = Object.entries(fields).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)} \\`);
  // The secret of the page is not a part of what is copied.
  return [`curl -N ${quoted(url)} \\`, '  -H "authorization: Bearer $PMCP_TOKEN" \\', ...headers, `  --data-raw ${quoted(format(message, 0))}`].join("\n");
}

/** A word for a shell. @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
