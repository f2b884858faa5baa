/**
 * Calls that have become tasks: their state until the bridge has fetched their result.
 *
 * @module
 */

/** @import { Like, TaskStatusResponse } from "../wire/message-types.js" */
/** @import { CallContext } from "./context.js" */
/** @import { WireResult } from "./convert.js" */

/** An ended task whose result is not fetched is kept for this long. */
const KEPT_MS = 600_000;
/** Beyond this many tasks those that ended first are dropped. */
const MOST = 10_000;

/**
 * @typedef {object} Task
 * @property {CallContext | undefined} call until it has ended
 * @property {string} state
 * @property {number} progress
 * @property {number} total
 * @property {string} message
 * @property {WireResult | undefined} result
 * @property {number} until
 */

/** The tasks of a session. A task has the id of its call. */
export class Tasks {
  /** @type {Map<string, Task>} */
  #tasks = new Map();

  /** @param {CallContext} call */
  begin(call) {
    this.#forget(MOST);
    this.#tasks.set(call.id, {
      call,
      state: "running",
      progress: 0,
      total: 0,
      message: "",
      result: undefined,
      until: Infinity,
    });
  }

  /**
   * @param {string} id
   * @param {{ progress: number, total: number, message: string }} report
   */
  progress(id, report) {
    const task = this.#tasks.get(id);
    if (task?.state === "running") Object.assign(task, report);
  }

  /**
   * @param {string} id
   * @param {WireResult} result
   * @param {string} [failed] the reason for which there is no result
   */
  end(id, result, failed) {
    this.#forget();
    const task = this.#tasks.get(id);
    if (task?.state !== "running") return;
    const outcome = failed === undefined ? { state: "completed", result } : { state: "failed", message: failed };
    this.#keep(id, task, outcome);
  }

  /**
   * @param {string} id
   * @returns {Like<TaskStatusResponse>}
   */
  status(id) {
    const task = this.#tasks.get(id);
    if (!task) return { taskId: id, state: "failed", message: "there is no such task" };
    const { state, progress, total, message } = task;
    return { taskId: id, state, progress, total, message };
  }

  /**
   * The result, once.
   *
   * @param {string} id
   */
  take(id) {
    const result = this.#tasks.get(id)?.result;
    if (result) this.#tasks.delete(id);
    return result;
  }

  /** @param {string} id */
  cancel(id) {
    const task = this.#tasks.get(id);
    if (task?.state === "running") {
      const { call } = task;
      this.#keep(id, task, { state: "cancelled" });
      call?._cancel();
    }
    return this.status(id);
  }

  /**
   * The task has ended.
   *
   * @param {string} id
   * @param {Task} task
   * @param {Partial<Task>} outcome
   */
  #keep(id, task, outcome) {
    // The last one that has ended is the last in the map.
    this.#tasks.delete(id);
    this.#tasks.set(id, Object.assign(task, outcome, { call: undefined, until: Date.now() + KEPT_MS }));
  }

  /**
   * Drops the tasks whose time is over, and those that ended first until there are fewer than `most`.
   */
  #forget(most = Infinity) {
    const now = Date.now();
    for (const [id, task] of this.#tasks) {
      if (task.until > now && (this.#tasks.size < most || task.state === "running")) continue;
      this.#tasks.delete(id);
    }
  }
}
