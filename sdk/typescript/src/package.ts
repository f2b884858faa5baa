/**
 * The types of the package: those of `index.js`, and those of what authors write.
 *
 * @module
 */

export * from "./index.js";
export type * from "./types.js";
