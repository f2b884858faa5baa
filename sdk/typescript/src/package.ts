/**
 * The types of the package: the types of `index.js`, and the types of what authors write.
 *
 * @module
 */

export * from "./index.js";
export type * from "./types.js";
