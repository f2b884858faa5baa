// The same in JavaScript with comments: the compiler checks it as strictly.
import { tool } from "protomcp";

tool({
  name: "add",
  input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
  handler: ({ a, b }, { log }) => {
    log.info(a.toFixed(1));
    return String(a + b);
  },
});

tool({
  name: "wrong",
  input: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
  // @ts-expect-error: numbers have no such method
  handler: ({ a }) => a.toUpperCase(),
});
