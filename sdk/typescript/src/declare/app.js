/**
 * Pages of MCP Apps: HTML that hosts show next to the results of a tool.
 *
 * @module
 */

import { readFile } from "node:fs/promises";

import { APP, checkNames } from "./options.js";
import { resource } from "./resource.js";

/** @import { App, Declared } from "../types.js" */

const MIME_TYPE = "text/html;profile=mcp-app";

/**
 * Declares a page. A tool shows it with `app: page`.
 *
 * @param {object} options
 * @param {string} options.name
 * @param {string} [options.uri] by default `ui://NAME`
 * @param {string} [options.html] the page
 * @param {string | URL} [options.file] the file with the page, in place of `html`; it is read each time
 * @param {string} [options.title]
 * @param {string} [options.description]
 * @param {Record<string, string[]>} [options.csp] the origins that the page uses, as in MCP Apps: `connectDomains`,
 *   `resourceDomains`, `frameDomains`, `baseUriDomains`
 * @param {Record<string, unknown>} [options.permissions] as in MCP Apps: `camera`, `microphone`, …
 * @param {string} [options.domain] a dedicated origin
 * @param {boolean} [options.prefersBorder]
 * @returns {App & Declared}
 */
export function app(options) {
  checkNames("app", options, APP);
  const { name, html, file, title, description, uri = `ui://${name}` } = options;
  if ((html === undefined) === (file === undefined)) throw new TypeError(`app ${JSON.stringify(name)} has either html or a file`);
  const { csp, permissions, domain, prefersBorder } = options;
  const ui = Object.fromEntries(
    Object.entries({ csp, permissions, domain, prefersBorder }).filter(([, value]) => value !== undefined),
  );
  const meta = Object.keys(ui).length ? { ui } : undefined;
  const { remove } = resource({
    uri,
    name,
    mimeType: MIME_TYPE,
    title,
    description,
    meta,
    handler: async () => ({
      text: html ?? (await readFile(/** @type {string | URL} */ (file), "utf8")),
      mimeType: MIME_TYPE,
      meta,
    }),
  });
  return { uri, remove };
}
