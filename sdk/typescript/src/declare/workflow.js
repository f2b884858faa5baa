/**
 * Workflows: tools that are called in an order. A run has a handle that the first step returns and the others take, so
 * that the list of tools is the same for all clients and at all times, as MCP 2026-07-28 wants it.
 *
 * @module
 */

import { isContent, isPlain } from "../content.js";
import { describeError, invalidArguments, ToolError } from "../errors.js";
import { objectJson, stringify } from "../json.js";
import { ToolResult } from "../result.js";
import { compileInput, compileLater } from "../schema/schema.js";
import { callHandler } from "../values.js";
import { checkNames, checkOptions, STEP, WORKFLOW } from "./options.js";
import { declareTool, tool } from "./tool.js";

/** @import { Described, Hints, Provider, Schema, Tool, ToolContext } from "../types.js" */

/** Runs beyond this number end the oldest one. */
const MOST_RUNS = 10_000;

/**
 * One run of a workflow.
 *
 * @template State
 * @typedef {object} Run
 * @property {string} handle
 * @property {State} state kept between the steps
 */

/**
 * A run, and what only its workflow uses.
 *
 * @typedef {Run<any> & {
 *   next: readonly string[],
 *   until: number,
 *   busy: boolean,
 *   cancelling: Promise<unknown> | undefined,
 *   isCancelled: boolean,
 *   limited: string[],
 *   session: string,
 * }} KeptRun
 */

/**
 * @template State
 * @typedef {Described & Hints & {
 *   input?: Schema,
 *   next?: readonly string[],
 *   values?: Record<string, Provider<any>>,
 *   handler: (args: any, context: ToolContext & { run: Run<State> }, values: any) => unknown,
 * }} Step
 */

/**
 * Declares a workflow. Each step is a tool named `WORKFLOW_STEP`. A step with `next` offers these steps; one without ends
 * the run. `WORKFLOW_cancel` ends it at any time.
 *
 * @template [State=Record<string, any>]
 * @param {object} options
 * @param {string} options.name
 * @param {string} [options.description]
 * @param {string} options.first the step that begins a run
 * @param {Record<string, Step<State>>} options.steps
 * @param {() => State} [options.state] makes the state of a run; an empty object by default
 * @param {number} [options.ttlMs] a run without a step for this long has ended; an hour by default
 * @param {(run: Run<State>) => unknown} [options.onCancel]
 * @param {readonly string[]} [options.allowDuring] while a session has a run, its client sees the steps and those other
 *   tools whose names match (`*` stands for any text), and the others again when the run has ended: after `ttlMs` with the
 *   next call of a step. Clients without a session see the same list at all times. Without it no tool is hidden
 * @returns {Tool[]}
 */
export function workflow(options) {
  checkNames("workflow", options, WORKFLOW);
  const { name, steps, first } = options;
  if (typeof steps !== "object" || steps === null) throw new TypeError(`workflow ${JSON.stringify(name)} has no steps`);
  for (const target of [first, ...Object.values(steps).flatMap((step) => step.next ?? [])]) {
    if (!Object.hasOwn(steps, target))
      throw new TypeError(`workflow ${JSON.stringify(name)} has no step ${JSON.stringify(target)}`);
  }
  for (const [step, definition] of Object.entries(steps)) checkOptions("step", definition, STEP, `${name}.${step}`);
  const runs = new Runs(options);
  const tools = Object.entries(steps).map(([step, definition]) => declareStep(runs, options, step, definition));
  if (Object.values(steps).some((step) => step.next?.length)) tools.push(declareCancel(runs, options));
  return tools;
}

/**
 * @param {Runs} runs
 * @param {any} options
 * @param {string} step
 * @param {Step<any>} definition
 */
function declareStep(runs, options, step, { input, next = [], ...definition }) {
  const { handler: _handler, values: _values, ...described } = definition;
  const isFirst = step === options.first;
  const compiled = compileInput(input, `${options.name}, ${step}`);
  if (!isFirst && Object.hasOwn(Object(compiled.json.properties), "handle"))
    throw new TypeError(`${options.name}, ${step}: the argument "handle" is the handle of the run: give it another name`);
  const json = isFirst ? compiled.json : withHandle(compiled.json);
  const name = `${options.name}_${step}`;
  const order = isFirst ? "Begins the workflow." : `Wants the handle of a run for which "${step}" is the next step.`;
  const description = [described.description, order].filter(Boolean).join(" ");
  const declared = {
    ...described,
    description,
    name,
    input: json,
    handler: showsLeft(runs, async ({ handle, ...others }, context) => {
      const args = isFirst && handle !== undefined ? { handle, ...others } : others;
      if (!isFirst) runs.at(handle, step);
      const outcome = await compiled.check(args, { matches: /** @type {any} */ (context)._matches });
      if (outcome.complaints) throw invalidArguments(`tool ${JSON.stringify(name)}`, outcome.complaints);
      // Once more: another call may have come during the check.
      const run = isFirst ? runs.begin(context.caller.session) : runs.at(handle, step);
      return runs.guard(run, async () => {
        const value = await callHandler(definition, /** @type {any} */ (outcome).value, Object.assign(context, { run }));
        if (value instanceof Error) throw value;
        while (run.cancelling) await run.cancelling.catch(() => {});
        if (run.isCancelled) return withNext(value, run, [], { enable: [], disable: [] });
        const limit = next.length ? limited(options, context) : [];
        const again = run.limited.filter((/** @type {string} */ one) => !limit.includes(one));
        const steps = next.map((one) => `${options.name}_${one}`);
        const result = withNext(value, run, steps, { enable: again, disable: limit });
        run.limited = limit;
        runs.advance(run, next);
        return result;
      });
    }),
  };
  const first = { type: "object" };
  return declareTool(declared, compiled.isOfLibrary ? compileLater(json, isFirst ? first : withHandle(first)) : undefined);
}

/**
 * @param {Runs} runs
 * @param {any} options
 */
function declareCancel(runs, { name, onCancel }) {
  return tool({
    name: `${name}_cancel`,
    description: `Ends a run of the workflow ${name}.`,
    input: withHandle({ type: "object", properties: {}, additionalProperties: false }),
    handler: showsLeft(runs, async ({ handle }) => {
      const run = runs.get(handle);
      // Other calls find no run while `onCancel` works. A step that ends in this time waits: if it fails, the run goes on.
      run.cancelling = (async () => onCancel?.(run))();
      try {
        await run.cancelling;
        run.isCancelled = true;
      } finally {
        run.cancelling = undefined;
      }
      runs.advance(run, []);
      return new ToolResult({ content: "cancelled", enable: run.limited });
    }),
  });
}

/**
 * A handler whose result, or whose error for an unknown run, shows the tools again that a run without an end has hidden.
 *
 * @param {Runs} runs
 * @param {(args: any, context: ToolContext) => Promise<ToolResult>} handler
 */
function showsLeft(runs, handler) {
  return async (/** @type {any} */ args, /** @type {ToolContext} */ context) => {
    const result = await handler(args, context).catch((error) => {
      const enable = error instanceof UnknownRun ? runs.left(context.caller.session) : [];
      if (!enable.length) throw error;
      return new ToolResult({ isError: true, ...describeError(error), enable });
    });
    return Object.assign(result, { enable: [...result.enable, ...runs.left(context.caller.session)] });
  };
}

/** A handle that names no run, or one that has ended. */
class UnknownRun extends ToolError {}

/** @param {any} json */
function withHandle(json) {
  const handle = { type: "string", description: "The handle that the first step has returned" };
  return { ...json, properties: { handle, ...json.properties }, required: ["handle", ...(json.required ?? [])] };
}

/**
 * The other tools that the session of a call does not see during a run.
 *
 * @param {any} options
 * @param {any} context
 * @returns {string[]}
 */
function limited({ name, steps, allowDuring }, context) {
  if (!allowDuring || !context.caller.session) return [];
  const own = new Set([...Object.keys(steps), "cancel"].map((step) => `${name}_${step}`));
  const escaped = allowDuring.map((/** @type {string} */ one) => one.replace(/[\\^$.|?+()[\]{}]/g, "\\$&").replaceAll("*", ".*"));
  const allowed = new RegExp(`^(?:${escaped.join("|")})$`, "s");
  const others = [...context._session.registry.tools].filter(
    ({ name, options }) => !options.hidden && !own.has(name) && !(escaped.length && allowed.test(name)),
  );
  return others.map(({ name }) => name);
}

/**
 * Adds the handle, the next steps and the change of the list to a result.
 *
 * @param {unknown} value
 * @param {KeptRun} run
 * @param {string[]} next
 * @param {{ enable: string[], disable: string[] }} change
 */
function withNext(value, run, next, { enable, disable }) {
  const end = run.isCancelled ? "the run was cancelled" : "the workflow is complete";
  const hint = next.length ? `handle: ${run.handle}\nnext: ${next.join(", ")}` : end;
  // A handler may return the same object each time.
  const result = value instanceof ToolResult ? Object.assign(new ToolResult(), value) : new ToolResult({ content: value });
  const workflow = { handle: run.handle, next };
  const blocks = [result.content ?? []]
    .flat()
    .map((part) => (isContent(part) || typeof part === "string" ? part : stringify(part)));
  const json = isPlain(value) && !(value instanceof ToolResult) ? objectJson(value) : "";
  return Object.assign(result, {
    content: [...blocks, { type: "text", text: hint }],
    enable: [...result.enable, ...enable],
    disable: [...result.disable, ...disable],
    meta: { ...result.meta, "protomcp/workflow": workflow },
    structured: json ? { ...JSON.parse(json), workflow } : result.structured,
  });
}

/** The runs of a workflow. */
class Runs {
  /** @type {Map<string, KeptRun>} */
  #runs = new Map();
  /** The tools that runs without an end have hidden, by session. @type {Map<string, string[]>} */
  #left = new Map();
  #make;
  #ttl;
  #name;
  #first;

  /** @param {any} options */
  constructor({ name, first, state = () => ({}), ttlMs = 3_600_000 }) {
    this.#name = name;
    this.#first = first;
    this.#make = state;
    this.#ttl = ttlMs;
  }

  /** @param {string} session */
  begin(session) {
    this.#forget(MOST_RUNS - 1);
    const handle = crypto.randomUUID();
    const about = { handle, session, next: [], until: Date.now() + this.#ttl, limited: [] };
    /** @type {KeptRun} */
    const run = { ...about, state: this.#make(), busy: false, cancelling: undefined, isCancelled: false };
    this.#runs.set(handle, run);
    return run;
  }

  /**
   * Forgets the runs that no step has used for long, and the oldest beyond a number.
   *
   * @param {number} most
   */
  #forget(most) {
    const now = Date.now();
    for (const { handle, busy, until, session, limited } of this.#runs.values()) {
      if (until > now && this.#runs.size <= most) break;
      if (busy) continue;
      this.#runs.delete(handle);
      if (!limited.length) continue;
      const left = this.#left.get(session) ?? [];
      this.#left.delete(session);
      if (this.#left.size >= MOST_RUNS) this.#left.delete(/** @type {string} */ (this.#left.keys().next().value));
      this.#left.set(session, [...new Set([...left, ...limited])]);
    }
  }

  /**
   * The tools to show again in a session: a run of it that was forgotten has hidden them, and no other one does. They are
   * given once.
   *
   * @param {string} session
   */
  left(session) {
    const left = this.#left.get(session);
    if (!left) return [];
    this.#left.delete(session);
    const hidden = [...this.#runs.values()].flatMap((run) => (run.session === session ? run.limited : []));
    return left.filter((name) => !hidden.includes(name));
  }

  /** @param {unknown} handle */
  get(handle) {
    this.#forget(MOST_RUNS);
    const run = this.#runs.get(String(handle));
    if (run && !run.cancelling) return run;
    throw new UnknownRun(`there is no run ${JSON.stringify(handle)} of the workflow ${this.#name}`, {
      code: "NOT_FOUND",
      suggestion: `begin a new one with ${this.#name}_${this.#first}`,
    });
  }

  /**
   * The run, if this is one of its next steps.
   *
   * @param {unknown} handle
   * @param {string} step
   */
  at(handle, step) {
    const run = this.get(handle);
    if (!run.busy && run.next.includes(step)) return run;
    throw new ToolError(
      run.busy ? "another step of this run has not ended" : `"${step}" is not the next step of this run`,
      {
        code: "OUT_OF_ORDER",
        suggestion: `call ${run.next.map((one) => `${this.#name}_${one}`).join(" or ")}`,
        retryable: run.busy,
      },
    );
  }

  /**
   * Runs a step, alone. If it fails, or its result has no form in JSON, the run stays where it is.
   *
   * @param {any} run
   * @param {() => Promise<ToolResult>} work
   */
  async guard(run, work) {
    run.busy = true;
    try {
      return await work();
    } catch (error) {
      if (!run.next.length) this.#runs.delete(run.handle);
      throw error;
    } finally {
      run.busy = false;
    }
  }

  /**
   * @param {any} run
   * @param {readonly string[]} next
   */
  advance(run, next) {
    // The last one that had a step is the last in the map.
    this.#runs.delete(run.handle);
    if (!next.length) return;
    run.next = next;
    run.until = Date.now() + this.#ttl;
    this.#runs.set(run.handle, run);
  }
}
