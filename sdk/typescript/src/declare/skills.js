/**
 * Folders of skills, which `pmcp` serves in addition to the tools.
 *
 * @module
 */

import { registry } from "../registry.js";

/** The most folders of a file. */
const MAX_FOLDERS = 64;
/** The longest path of one, in bytes. */
const MAX_PATH = 4096;

/**
 * Serves the Agent Skills in a folder: the folder itself if it has a `SKILL.md`, or each folder below it that has one.
 *
 * A relative path is relative to the folder of the tool file. Several calls add folders, at most 64. `pmcp` reads the
 * files: it loads them when the process starts, and `pmcp dev` again after each save. The folders are announced at the
 * start of the process, so the call belongs to the level of the module.
 *
 * ```js
 * skills("skills");
 * ```
 *
 * @param {string} folder its path
 */
export function skills(folder) {
  if (typeof folder !== "string")
    throw new TypeError(`skills takes the path of a folder as a text, not ${folder === null ? "null" : typeof folder}`);
  if (!folder || folder.includes("\0"))
    throw new TypeError("skills takes the path of a folder: it is empty, or has a NUL in it");
  const size = new TextEncoder().encode(folder).length;
  if (size > MAX_PATH)
    throw new RangeError(`the path of a folder of skills has ${size} bytes, more than the limit of ${MAX_PATH}`);
  const { folders, isAnnounced } = registry.skills;
  if (folders.includes(folder)) return;
  if (isAnnounced)
    throw new Error("skills was called after the start of the process: call it at the level of the module");
  if (folders.length === MAX_FOLDERS)
    throw new RangeError(`there are more than ${MAX_FOLDERS} folders of skills: name the folder above them`);
  folders.push(folder);
}
