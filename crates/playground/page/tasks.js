// Calls that became tasks: in the core of 2025-11-25, and in the extension of 2026-07-28.

import { RpcError } from "./mcp.js";

/** The bounds of the pause between two questions for the state of a task, in milliseconds. */
const [SHORTEST, LONGEST] = [100, 5000];

/** @param {any} result */
export function isTask(result) {
  return result?.resultType === "task" || typeof result?.task?.taskId === "string";
}

/**
 * Waits for the result of a task. The end of `signal` cancels it.
 *
 * @param {import("./mcp.js").McpClient} client
 * @param {any} created the result of the call
 * @param {AbortSignal} signal
 * @param {(words: string) => void} said the state, for people
 * @returns {Promise<any>}
 */
export async function follow(client, created, signal, said) {
  const task = created.resultType === "task" ? created : created.task;
  const cancel = () => void client.request("tasks/cancel", { taskId: task.taskId }).catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const state = (/** @type {any} */ now) => said([`task ${now.taskId} is ${now.status}`, now.statusMessage].filter(Boolean).join(": "));
    state(task);
    return await (created.resultType === "task" ? ofExtension(client, task, signal, state) : ofCore(client, task, signal, state));
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

/** The state comes with the result, and with the questions. @param {import("./mcp.js").McpClient} client @param {any} task @param {AbortSignal} signal @param {(now: any) => void} state */
async function ofExtension(client, task, signal, state) {
  const answered = new Set();
  for (let now = task; ; now = await client.request("tasks/get", { taskId: task.taskId }, { signal })) {
    state(now);
    if (now.status === "completed" && now.result) return now.result;
    if (now.status === "failed") throw now.error ? new RpcError(now.error) : new Error("the task has failed");
    if (now.status === "cancelled") throw new Error("the task was cancelled");
    const open = Object.entries(now.inputRequests ?? {}).filter(([key]) => !answered.has(key));
    if (open.length > 0) {
      const inputResponses = await client.answerAll(Object.fromEntries(open), signal);
      await client.request("tasks/update", { taskId: task.taskId, inputResponses }, { signal });
      open.forEach(([key]) => answered.add(key));
    } else await pause(now.pollIntervalMs, signal);
  }
}

/** One request waits for the result, during which questions come as usual. @param {import("./mcp.js").McpClient} client @param {any} task @param {AbortSignal} signal @param {(now: any) => void} state */
async function ofCore(client, task, signal, state) {
  const ended = new AbortController();
  const watch = async () => {
    while (!ended.signal.aborted) {
      await pause(task.pollInterval, ended.signal);
      state(await client.request("tasks/get", { taskId: task.taskId }, { signal: ended.signal }));
    }
  };
  // The result says more than the last state.
  watch().catch(() => {});
  try {
    return await client.request("tasks/result", { taskId: task.taskId }, { signal });
  } finally {
    ended.abort();
  }
}

/** @param {any} wanted in milliseconds @param {AbortSignal} signal */
function pause(wanted, signal) {
  const time = Math.min(Math.max(Number(wanted) || 500, SHORTEST), LONGEST);
  return new Promise((resolve, reject) => {
    const stop = () => (clearTimeout(timer), reject(signal.reason));
    const timer = setTimeout(() => (signal.removeEventListener("abort", stop), resolve(null)), time);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
}
