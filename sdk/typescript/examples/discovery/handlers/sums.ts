// Tools for numbers.
import { tool } from "protomcp";
import { z } from "zod";

export const total = tool({
  description: "Adds a list of numbers.",
  input: z.object({ numbers: z.array(z.int()) }),
  readOnly: true,
  handler: ({ numbers }) => String(numbers.reduce((sum, number) => sum + number, 0)),
});
