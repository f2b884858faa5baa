/**
 * Serves the declarations of this process to the bridge that has started it.
 *
 * @module
 */

import { createConnection } from "node:net";
import { pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";

import { checkNames } from "./declare/options.js";
import { logError, printError, ToolError } from "./errors.js";
import { FrameReader } from "./wire/frames.js";
import { Output } from "./session/output.js";
import { registry } from "./registry.js";
import { Session } from "./session/session.js";

/** @import { Socket } from "node:net" */

/** With more bytes that the bridge has not read, no further requests are read. */
const MOST_WAITING = 64 << 20;

// Only this process connects: those that it starts do not get the variable.
const socketPath = isMainThread ? process.env.PROTOMCP_SOCKET : undefined;
if (socketPath) delete process.env.PROTOMCP_SOCKET;

/** @type {Session | undefined} */
let current;
/** @type {Promise<void> | undefined} */
let running;

/** The session of this process, if it has begun. */
export const currentSession = () => current;

/**
 * Serves everything that was declared, until the bridge closes the connection; then the process exits. A file that only
 * declares need not call it: it runs by itself when its module has been evaluated.
 *
 * @param {{ concurrency?: number }} [options] the most concurrent calls: 1024 by default
 * @returns {Promise<void>}
 */
export function run(options = {}) {
  checkNames("run", options, ["concurrency"]);
  if (!socketPath) {
    console.error("PROTOMCP_SOCKET is not set: start this file with `pmcp dev FILE`");
    process.exit(1);
  }
  return (running ??= serve(socketPath, options));
}

/** Runs when the module that was started has been evaluated, unless it has called `run` by then. */
export function runAfterMain() {
  if (socketPath) setImmediate(afterMain);
}

async function afterMain() {
  process.once("beforeExit", reportStuck);
  try {
    await mainModule();
  } catch {
    // The runtime reports it, and exits.
    return;
  } finally {
    process.off("beforeExit", reportStuck);
  }
  await run();
}

/** Nothing is left to do, and the module that was started still waits: Node exits with status 13, without a reason. */
function reportStuck() {
  const text = "an `await` at the top level of the file never ends, so that its tools are not served";
  if (!running) console.error(text);
}

/** The exports of the module that was started, when it has been evaluated. */
async function mainModule() {
  const commonJs = process.mainModule;
  if (commonJs) {
    while (!commonJs.loaded) await new Promise((resolve) => setImmediate(resolve));
    return commonJs.exports;
  }
  const path = process.argv[1];
  if (!path) return {};
  const exports = await import(pathToFileURL(path).href);
  // Deno does not wait for the end of a module that awaits.
  while (!isEvaluated(exports)) await new Promise((resolve) => setTimeout(resolve, 1));
  return exports;
}

/**
 * True if all exports have their values.
 *
 * @param {Record<string, unknown>} exports
 */
function isEvaluated(exports) {
  try {
    Object.values(exports);
    return true;
  } catch (error) {
    if (error instanceof ReferenceError) return false;
    throw error;
  }
}

/**
 * A module that awaits `run` never ends, and so never has exports.
 *
 * @template T
 * @param {Promise<T>} exports
 * @returns {Promise<T>}
 */
function unlessStuck(exports) {
  return new Promise((resolve, reject) => {
    const stuck = () =>
      reject(new Error("a tool has no name, and `await run()` waits for itself: name it, or leave `run` out"));
    process.once("beforeExit", stuck);
    exports.finally(() => process.off("beforeExit", stuck)).then(resolve, reject);
  });
}

/**
 * @param {string} path
 * @param {{ concurrency?: number }} options
 */
async function serve(path, options) {
  // A forgotten promise of one call must not end all others.
  process.on("unhandledRejection", (reason) => printError("unhandled rejection:", reason));
  try {
    await Promise.all(registry.loading);
    if (hasUnnamed()) registry.nameFromExports(await unlessStuck(mainModule()));
    registry.checkNames();
    await registry.start();
  } catch (error) {
    try {
      if (error instanceof ToolError) console.error(error.message);
      else logError("the start", error);
    } finally {
      process.exit(1);
    }
  }
  const socket = createConnection(path);
  const output = new Output(
    (bytes) => write(socket, bytes),
    () => socket.writableLength,
  );
  const session = new Session(registry, output, { ...options, rawAbove: threshold() });
  current = session;
  const reader = new FrameReader(session);
  socket.on("connect", () => session.begin());
  socket.on("drain", () => socket.resume());
  socket.on("data", (bytes) => {
    reader.feed(/** @type {Buffer} */ (bytes));
    if (reader.lost) socket.destroy(new Error("the bytes from the bridge cannot be read"));
  });
  await new Promise((resolve) => {
    socket.on("error", (/** @type {NodeJS.ErrnoException} */ error) => {
      // Answers to a bridge that has gone.
      if (error.code !== "EPIPE" && error.code !== "ECONNRESET")
        console.error(`the connection to the bridge is lost: ${error.message}`);
    });
    socket.on("close", resolve);
  });
  session.end();
  for (const error of await registry.stop()) printError("a stop hook failed:", error);
  process.exit(reader.lost ? 1 : 0);
}

/**
 * @param {Socket} socket
 * @param {Buffer} bytes
 */
function write(socket, bytes) {
  if (!socket.writable) return;
  socket.write(bytes);
  if (socket.writableLength > MOST_WAITING) socket.pause();
}

const hasUnnamed = () => [...registry.tools, ...registry.prompts].some(({ name }) => !name);

function threshold() {
  const text = process.env.PROTOMCP_CHUNK_THRESHOLD;
  const value = Number(text);
  return text && Number.isInteger(value) && value >= 0 ? value : 65536;
}
