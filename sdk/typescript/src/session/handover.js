/**
 * The state for the next process, and the state of the one before: docs/envelope.md, "Handing over".
 *
 * @module
 */

import { Buffer } from "node:buffer";

import { stringify } from "../json.js";

/** @import { Registry } from "../registry.js" */

/** The most bytes of a state. */
const MOST = 1 << 20;

/**
 * The bytes of the state of this process; none if there is no state.
 *
 * @param {Registry} registry
 */
export async function stateOf({ handover }) {
  if (!handover) return Buffer.alloc(0);
  const given = await handover.give();
  if (given === undefined) throw new TypeError("the state has no form in JSON");
  const state = Buffer.from(stringify(given, "state"));
  if (state.length > MOST) throw new RangeError(`the state has ${state.length} bytes, more than the limit of ${MOST}`);
  return state;
}

/**
 * @param {Registry} registry
 * @param {Uint8Array} state
 */
export async function takeState({ handover }, state) {
  if (!handover) throw new Error("no function takes the state over");
  await handover.take(JSON.parse(Buffer.from(state).toString()));
}
