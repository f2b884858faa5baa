/**
 * Values that functions provide to handlers, for one request each. They never reach a schema.
 *
 * @module
 */

import { printError } from "./errors.js";

/** @import { Context, Provider, Provision } from "./types.js" */

/** @typedef {{ values?: Record<string, Provider<any>>, handler: (...args: any[]) => unknown }} Handled */

/**
 * Calls a handler, with its values as the third argument.
 *
 * @param {Handled} options
 * @param {any} first the first argument of the handler
 * @param {any} context
 * @param {any} [args] the arguments for providers, if they are not the first one
 * @returns {unknown}
 */
export const callHandler = (options, first, context, args = first) =>
  options.values ? provided(options, first, context, args) : options.handler(first, context);

/**
 * @param {Handled} options
 * @param {any} first
 * @param {Context} context
 * @param {any} args
 */
async function provided(options, first, context, args) {
  const request = new Request(args, context);
  let value;
  try {
    /** @type {Record<string, unknown>} */
    const values = {};
    for (const [name, provider] of Object.entries(options.values ?? {})) values[name] = await request.get(provider);
    value = await options.handler(first, context, values);
  } catch (error) {
    // Those that rethrow it add nothing.
    await request.close((generator) => generator.throw(error)).catch((other) => {
      if (other !== error) printError("a value was not closed:", other);
    });
    throw error;
  }
  await request.close((generator) => generator.next());
  return value;
}

/**
 * The values of one request.
 *
 * @implements {Provision}
 */
class Request {
  /** @type {Map<Provider<any>, Promise<any>>} */
  #made = new Map();
  /** @type {(Generator | AsyncGenerator)[]} */
  #open = [];

  /**
   * @param {any} args
   * @param {any} context
   */
  constructor(args, context) {
    this.args = args;
    this.context = context;
  }

  /**
   * A separate function, so that providers may take the request apart.
   *
   * @template {Provider<any>} P
   * @param {P} provider
   */
  get = (provider) => {
    let value = this.#made.get(provider);
    if (!value) this.#made.set(provider, (value = this.#make(provider)));
    return value;
  };

  /** @param {Provider<any>} provider */
  async #make(provider) {
    const made = await provider(this);
    if (!isGenerator(provider)) return made;
    const { value, done } = await made.next();
    if (done) throw new TypeError(`the provider ${provider.name} has yielded nothing`);
    this.#open.push(made);
    return value;
  }

  /**
   * Resumes the generators, the last one first.
   *
   * @param {(generator: Generator | AsyncGenerator) => any} resume
   */
  async close(resume) {
    /** @type {unknown[]} */
    const errors = [];
    for (const generator of this.#open.reverse()) {
      try {
        const { done } = await resume(generator);
        if (!done) await generator.return(undefined);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length) throw errors[0];
  }
}

/** @param {Function} provider */
const isGenerator = (provider) => /GeneratorFunction\]$/.test(Object.prototype.toString.call(provider));
