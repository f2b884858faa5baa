#!/usr/bin/env node
// Runs the program `pmcp` of the package for this system.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";

const name = `@protomcp/${process.platform}-${process.arch}`;
let program;
try {
  program = createRequire(import.meta.url).resolve(`${name}/bin/pmcp`);
} catch {
  console.error(
    `protomcp: there is no pmcp for this system: the package ${name} is not installed. It comes with this package unless ` +
      "optional dependencies are left out; from files, install both with one `npm install`; for other systems, build pmcp " +
      "from its sources.",
  );
  process.exit(1);
}

const args = process.argv.slice(2);
if (process.execve) {
  // It replaces this process, so that nothing has to be passed on. Node warns that it is experimental.
  process.removeAllListeners("warning");
  process.execve(program, [program, ...args], process.env);
}

const child = spawn(program, args, { stdio: "inherit" });
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
const pass = (signal) => child.kill(signal);
for (const signal of signals) process.on(signal, pass);
child.on("error", (error) => {
  console.error(`protomcp: pmcp cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  for (const each of signals) process.off(each, pass);
  process.kill(process.pid, signal);
});
