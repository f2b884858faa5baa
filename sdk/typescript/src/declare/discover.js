/**
 * Tools found in a folder.
 *
 * @module
 */

import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { registry } from "../registry.js";

const SOURCE = /\.[cm]?[jt]s$/,
  DECLARATIONS = /\.d\.[cm]?ts$/;

/**
 * Loads the files of a folder that declare tools, in the order of their names. Those whose names begin with an underscore
 * or a dot are left out, and so are folders. The tools are served when all files are loaded, whether or not the promise is
 * awaited.
 *
 * ```js
 * discover(new URL("handlers/", import.meta.url));
 * ```
 *
 * @param {string | URL} folder
 * @returns {Promise<void>}
 */
export function discover(folder) {
  const loaded = load(resolve(folder instanceof URL ? fileURLToPath(folder) : folder));
  registry.loading.push(loaded);
  // Without `await` the start reports it.
  loaded.catch(() => {});
  return loaded;
}

/** @param {string} folder */
async function load(folder) {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
    throw new Error(`the folder of tools cannot be read: ${error.message}`);
  });
  const names = entries
    .filter(({ name }) => SOURCE.test(name) && !DECLARATIONS.test(name) && !/^[_.]/.test(name))
    .map(({ name }) => name)
    .sort();
  for (const name of names) registry.nameFromExports(await import(pathToFileURL(resolve(folder, name)).href));
}
