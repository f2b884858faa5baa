// Makes `import "protomcp"` find the SDK next to this file where Node finds no other one; with `?bundled` in any case.
import { readFileSync } from "node:fs";
import * as modules from "node:module";
import { fileURLToPath } from "node:url";

const { exports } = JSON.parse(readFileSync(new URL("modules/protomcp/package.json", import.meta.url), "utf8"));
const own = new Map();
for (const [name, entry] of Object.entries(exports)) {
  own.set(`protomcp${name.slice(1)}`, new URL(`modules/protomcp/${entry.default}`, import.meta.url).href);
}
const isFirst = new URL(import.meta.url).search === "?bundled";
const data = { own, isFirst };

/** True if the package was not found, which is not so if it was found and has a fault. */
const isMissing = (error) =>
  /^Cannot find (package|module) 'protomcp['/]/.test(error?.message) && /MODULE_NOT_FOUND$/.test(error.code);

if (modules.registerHooks) {
  modules.registerHooks({
    resolve(name, context, next) {
      const url = own.get(name);
      if (!url) return next(name, context);
      const lent = { url, format: "module", shortCircuit: true };
      if (isFirst) return lent;
      try {
        return next(name, context);
      } catch (error) {
        if (isMissing(error)) return lent;
        throw error;
      }
    },
  });
} else {
  modules.register("./hooks.mjs", import.meta.url, { data });
  const { Module } = modules;
  const resolve = Module._resolveFilename;
  Module._resolveFilename = function (name, ...rest) {
    const url = own.get(name);
    if (!url) return resolve.call(this, name, ...rest);
    if (isFirst) return fileURLToPath(url);
    try {
      return resolve.call(this, name, ...rest);
    } catch (error) {
      if (isMissing(error)) return fileURLToPath(url);
      throw error;
    }
  };
}
