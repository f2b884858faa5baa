// Tools for AI hosts. Serve them with: pmcp dev tools.ts
import { tool } from "protomcp";

tool({
  name: "add",
  description: "Adds two numbers.",
  readOnly: true,
  input: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
  handler: ({ a, b }): string => String(a + b),
});

tool({
  name: "greet",
  description: "Greets a person.",
  readOnly: true,
  input: {
    type: "object",
    properties: {
      name: { type: "string", description: "The person to greet" },
      times: { type: "integer", description: "The number of greetings", minimum: 1, maximum: 3 },
    },
    required: ["name"],
  },
  handler: ({ name, times = 1 }): string => Array(times).fill(`Hello, ${name}!`).join(" "),
});
