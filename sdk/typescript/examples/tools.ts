// Three tools: pmcp dev tools.ts
import { tool } from "protomcp";
import { z } from "zod";

tool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.int(), b: z.int() }),
  readOnly: true,
  handler: ({ a, b }) => String(a + b),
});

tool({
  name: "greet",
  description: "Greets someone.",
  input: z.object({ name: z.string() }),
  readOnly: true,
  handler: ({ name }) => `Hello, ${name}!`,
});

tool({
  name: "count",
  description: "Counts, and says how far it is.",
  input: z.object({ to: z.int() }),
  handler({ to }, { progress }) {
    for (let step = 1; step <= to; step++) progress(step, to, `step ${step}`);
    return `counted to ${to}`;
  },
});
