// The plain tool of the bench alone, without a library for schemas.
import { tool } from "protomcp";

const input = { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] };
tool({ name: "add", description: "Adds two numbers.", input, handler: ({ a, b }) => String(a + b) });
