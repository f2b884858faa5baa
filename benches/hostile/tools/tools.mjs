// The tools on the SDK for TypeScript that are attacked.
import { setTimeout as sleep } from "node:timers/promises";
import { resourceTemplate, tool } from "protomcp";

const kind = (op) => ({
  type: "object",
  properties: { op: { const: op }, kids: { type: "array", items: { $ref: "#/$defs/node" } } },
  required: ["op", "kids"],
  additionalProperties: false,
});
const object = (properties) => ({ type: "object", properties, required: Object.keys(properties) });
const node = { anyOf: ["and", "or", "not"].map(kind) };

tool({
  name: "condition",
  input: { ...object({ node: { $ref: "#/$defs/node" } }), $defs: { node } },
  handler: ({ node }) => node.op,
});
tool({ name: "beat", handler: async () => "beat" });
tool({ name: "slow", handler: () => sleep(3000, "slow") });
tool({ name: "number", input: object({ x: { type: "number" } }), handler: ({ x }) => String(x) });
tool({ name: "integer", input: object({ n: { type: "integer" } }), handler: ({ n }) => String(n) });
tool({
  name: "pattern",
  input: object({ s: { type: "string", pattern: "^((a+)+b|a+!)$" } }),
  handler: ({ s }) => s,
});
tool({
  name: "unsayable",
  handler: () => {
    throw Object.defineProperty(new Error("a"), "message", {
      get() {
        throw new Error("there is no text");
      },
    });
  },
});
resourceTemplate({ uriTemplate: "doc://{+a}/{+b}/{+c}/x", handler: (uri, { params }) => params.a });
// The program passes a URI on that one template fits, and the SDK matches it again.
resourceTemplate({ uriTemplate: "doc://{+rest}", handler: () => "rest" });
