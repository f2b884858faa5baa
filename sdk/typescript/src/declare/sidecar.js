/**
 * Programs that live as long as the tools need them.
 *
 * @module
 */

import { once } from "node:events";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";

import { ToolError } from "../errors.js";
import { checkNames, SIDECAR } from "./options.js";
import { registry } from "../registry.js";

/** @import { ChildProcess } from "node:child_process" */
/** @import { SidecarOptions } from "../types.js" */

/** Pauses between two looks at the health, in milliseconds. */
const FIRST_PAUSE = 20,
  LONGEST_PAUSE = 1000;
/** The longest time of one look. */
const LOOK = 5000;

/** @type {Set<ChildProcess>} */
const running = new Set();

/** A process that ends without its stop hooks. */
const killAll = () => running.forEach((child) => child.kill("SIGKILL"));

/**
 * Starts a program before the first call, or with the server (`startOn: "server_start"`). Calls wait until it answers its
 * `healthCheck`, and fail if it does not: the next one tries again. It is stopped with the process.
 *
 * ```js
 * sidecar({ name: "search", command: ["search-server", "--port", "7700"], healthCheck: "http://127.0.0.1:7700/health" });
 * ```
 *
 * @param {SidecarOptions} options
 */
export function sidecar(options) {
  checkNames("sidecar", options, SIDECAR);
  const { name, command, startOn = "first_tool_call" } = options;
  if (!name) throw new TypeError("a sidecar has a name");
  if (!command?.length) throw new TypeError(`the sidecar ${JSON.stringify(name)} has no command`);
  if (registry.sidecars.some((other) => other.name === name))
    throw new TypeError(`there are two sidecars ${JSON.stringify(name)}`);
  if (!registry.sidecars.length) process.once("exit", killAll);
  const program = new Sidecar(options);
  registry.sidecars.push(program);
  registry.hooks.push({
    start: startOn === "server_start" ? () => program.ready() : undefined,
    stop: () => program.stop(),
  });
}

/** Loads a module of the runtime when it is needed: few files have sidecars. */
const builtin = createRequire(import.meta.url);

/** One program. */
class Sidecar {
  /** @type {Promise<void> | undefined} */
  #ready;
  /** @type {ChildProcess | undefined} */
  #process;
  #options;
  /** True while it runs and has answered. */
  isReady = false;

  /** @param {SidecarOptions} options */
  constructor(options) {
    this.#options = options;
    this.name = options.name;
  }

  /** Starts the program if it does not run, and waits until it answers. Callers at the same time share one start. */
  ready() {
    if (this.#ready) return this.#ready;
    const start = this.#start();
    const child = this.#process;
    this.#ready = start.catch(async (error) => {
      // When the program has ended, another call may have started the next one.
      await this.#end(child);
      console.error(error.message);
      throw new ToolError(error.message, { code: "SIDECAR", retryable: true });
    });
    return this.#ready;
  }

  async #start() {
    const { command, cwd, env, healthCheck, healthTimeout = 30_000 } = this.#options;
    const [program = "", ...args] = command;
    /** @type {typeof import("node:child_process")} */
    const { spawn } = builtin("node:child_process");
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "inherit", "inherit"],
    });
    this.#process = child;
    let ended = "";
    child.once("exit", (code, signal) => {
      running.delete(child);
      ended = `it has ended with ${signal ?? `status ${code}`}`;
      if (this.#process === child) this.#forget();
    });
    await once(child, "spawn").then(
      () => running.add(child),
      (error) => (ended = error.message),
    );
    const deadline = Date.now() + healthTimeout;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      const answers = !ended && (!healthCheck || (await isHealthy(healthCheck)));
      if (ended) throw new Error(`the sidecar ${JSON.stringify(this.name)} does not run: ${ended}`);
      if (answers) break;
      if (Date.now() > deadline)
        throw new Error(
          `the sidecar ${JSON.stringify(this.name)} has not answered ${healthCheck} within ${healthTimeout} ms`,
        );
      await sleep(pause);
    }
    this.isReady = this.#process === child;
  }

  #forget() {
    this.#process = this.#ready = undefined;
    this.isReady = false;
  }

  stop() {
    return this.#end(this.#process);
  }

  /** @param {ChildProcess | undefined} child */
  async #end(child) {
    if (this.#process === child) this.#forget();
    if (!child || child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    const hard = setTimeout(() => child.kill("SIGKILL"), this.#options.stopTimeout ?? 3000);
    await exit;
    clearTimeout(hard);
    running.delete(child);
  }
}

/** @param {string | URL} url */
async function isHealthy(url) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(LOOK) });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return false;
  }
}
