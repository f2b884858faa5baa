// The eras of MCP: what a request carries in addition to its method and parameters.

/** The revisions, the newest one with sessions first. */
export const REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2026-07-28"];
/** The revision without sessions. */
export const STATELESS = "2026-07-28";

const PREFIX = "io.modelcontextprotocol";
const APPS = { [`${PREFIX}/ui`]: { mimeTypes: ["text/html;profile=mcp-app"] } };
const CLIENT = { name: "pmcp-playground", version: "1" };

/** @param {string} revision */
export function isStateless(revision) {
  return revision === STATELESS;
}

/** The parameters of `initialize`. @param {string} revision */
export function introduction(revision) {
  return { protocolVersion: revision, capabilities: capabilities(revision), clientInfo: CLIENT };
}

/** Everything that a person can answer in the page. @param {string} revision */
function capabilities(revision) {
  const tasks = isStateless(revision) ? { [`${PREFIX}/tasks`]: {} } : {};
  return {
    roots: { listChanged: true },
    sampling: {},
    elicitation: { form: {}, url: {} },
    extensions: { ...APPS, ...tasks },
  };
}

/** The `_meta` of a request without a session (2026-07-28, basic, request metadata). @param {string} level */
export function metadata(level) {
  return {
    [`${PREFIX}/protocolVersion`]: STATELESS,
    [`${PREFIX}/clientCapabilities`]: capabilities(STATELESS),
    [`${PREFIX}/clientInfo`]: CLIENT,
    ...(level && { [`${PREFIX}/logLevel`]: level }),
  };
}

/** The server in the answer to `server/discover`. @param {any} result */
export function discovered(result) {
  const { capabilities, instructions, _meta } = result;
  const serverInfo = _meta?.[`${PREFIX}/serverInfo`] ?? { name: "server", version: "" };
  return { protocolVersion: STATELESS, capabilities, instructions, serverInfo };
}

/**
 * The header fields of a request without a session (2026-07-28, transports, request headers).
 *
 * @param {string} method
 * @param {any} params
 * @param {any} [tool] the definition of the tool that is called
 * @returns {Record<string, string>}
 */
export function requestHeaders(method, params, tool) {
  const name = params?.name ?? params?.uri ?? params?.taskId;
  const isNamed = /^(tools\/call|prompts\/get|resources\/read|tasks\/(get|update|cancel))$/.test(method);
  return {
    "mcp-protocol-version": STATELESS,
    "mcp-method": method,
    ...(isNamed && name !== undefined && { "mcp-name": headerText(String(name)) }),
    ...(method === "tools/call" && mirrored(tool?.inputSchema, params.arguments)),
  };
}

/** The arguments that their schema wants as header fields, too. @param {any} schema @param {any} value @returns {Record<string, string>} */
function mirrored(schema, value) {
  const fields = /** @type {Record<string, string>} */ ({});
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    const given = value?.[name];
    const field = property?.["x-mcp-header"];
    if (given === undefined || given === null) continue;
    if (typeof field === "string" && typeof given !== "object") fields[`mcp-param-${field}`] = headerText(String(given));
    else if (property?.properties) Object.assign(fields, mirrored(property, given));
  }
  return fields;
}

/** Text as the value of a header field. @param {string} text */
export function headerText(text) {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?")) return text;
  return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(text)))}?=`;
}
