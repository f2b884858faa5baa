/**
 * Everything that a file has declared.
 *
 * @module
 */

/** @import { CallEvent, Completer, LocalMiddleware, MiddlewareOptions, PromptOptions, ResourceOptions, ResourceTemplateOptions, ToolOptions } from "./types.js" */
/** @import { Compiled } from "./schema/schema.js" */

/** @typedef {"tools" | "resources" | "prompts"} Section a list that clients know */

/**
 * @typedef {object} ToolEntry
 * @property {string} name empty until the exports of its module are known
 * @property {ToolOptions<any, any, any>} options
 * @property {Compiled | undefined} input compiled when it is first needed
 * @property {(Compiled & { wraps: boolean }) | undefined} output likewise
 */

/** @typedef {{ name: string, options: PromptOptions<any, any>, input: Compiled | undefined }} PromptEntry */
/** @typedef {{ start?: () => unknown, stop?: () => unknown }} Hook */

/** A set of declarations that one process serves. */
export class Registry {
  /** @type {Set<ToolEntry>} */
  tools = new Set();
  /** @type {Set<PromptEntry>} */
  prompts = new Set();
  /** @type {Map<string, ResourceOptions<any>>} */
  resources = new Map();
  /** @type {Map<string, ResourceTemplateOptions<string, any>>} */
  templates = new Map();
  /** By reference and argument. @type {Map<string, Completer>} */
  completions = new Map();
  /** @type {Map<string, MiddlewareOptions>} */
  middleware = new Map();
  /** @type {LocalMiddleware[]} */
  local = [];
  /** @type {Hook[]} */
  hooks = [];
  /** Programs that calls wait for. @type {{ name: string, isReady: boolean, ready: () => Promise<void> }[]} */
  sidecars = [];
  /** They are told about calls, and never throw. @type {((event: CallEvent) => void)[]} */
  sinks = [];
  /** Files that are being loaded. @type {Promise<void>[]} */
  loading = [];
  /** The state that survives a reload. @type {{ give: () => unknown, take: (state: any) => unknown } | undefined} */
  handover = undefined;
  /** Folders of skills; they are final when they are announced. @type {{ folders: string[], isAnnounced: boolean }} */
  skills = { folders: [], isAnnounced: false };
  /** Runs a handler so that its call can be found from everywhere in it. @type {((context: any, work: () => unknown) => unknown) | undefined} */
  ambient = undefined;
  /** @type {Set<(section: Section) => void>} */
  #listeners = new Set();

  /** Runs the start hooks when everything is loaded. If one fails, those before it are stopped. */
  async start() {
    await Promise.all(this.loading);
    let started = 0;
    try {
      for (; started < this.hooks.length; started++) await this.hooks[started]?.start?.();
    } catch (error) {
      await this.stop(this.hooks.slice(0, started));
      throw error;
    }
  }

  /**
   * Runs the stop hooks, the last one first.
   *
   * @param {Hook[]} [hooks]
   * @returns {Promise<unknown[]>} their errors
   */
  async stop(hooks = this.hooks) {
    const errors = [];
    for (const { stop } of [...hooks].reverse()) {
      try {
        await stop?.();
      } catch (error) {
        errors.push(error);
      }
    }
    return errors;
  }

  /**
   * Tells those who serve these declarations that a list has changed.
   *
   * @param {Section} section
   */
  changed(section) {
    for (const listener of this.#listeners) listener(section);
  }

  /**
   * @param {(section: Section) => void} listener
   * @returns {() => void} ends it
   */
  onChange(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Adds a named entry.
   *
   * @template {{ name: string }} E
   * @param {Set<E>} entries
   * @param {E} entry
   * @param {Section} section
   */
  add(entries, entry, section) {
    checkName(entries, entry.name, section);
    entries.add(entry);
    this.changed(section);
    return {
      remove: () => {
        if (entries.delete(entry)) this.changed(section);
      },
    };
  }

  /**
   * Gives tools and prompts without a name the one under which their module exports them.
   *
   * @param {Record<string, unknown>} exports
   */
  nameFromExports(exports) {
    for (const [name, value] of Object.entries(exports)) {
      const entry = ENTRIES.get(/** @type {object} */ (value));
      if (!entry || entry.name) continue;
      checkName(
        /** @type {Set<any>} */ (this.tools.has(/** @type {any} */ (entry)) ? this.tools : this.prompts),
        name,
        "tools",
      );
      entry.name = name;
    }
  }

  /** Throws if a tool or prompt has no name. */
  checkNames() {
    for (const { name, options } of [...this.tools, ...this.prompts]) {
      const about = options.description ? ` (${options.description})` : "";
      if (!name) throw new TypeError(`a tool or prompt${about} has no name: give it one, or export it`);
    }
  }
}

/** The entries behind the objects that authors get. @type {WeakMap<object, { name: string }>} */
export const ENTRIES = new WeakMap();

/** The declarations of this process. */
export const registry = new Registry();

/**
 * @param {Set<{ name: string }>} entries
 * @param {string} name
 * @param {string} section
 */
function checkName(entries, name, section) {
  if (typeof name !== "string" || name.length > 128)
    throw new TypeError(`a name has at most 128 characters: ${JSON.stringify(name)}`);
  if (name && [...entries].some((entry) => entry.name === name))
    throw new TypeError(`there are two ${section} with the name ${JSON.stringify(name)}`);
}
