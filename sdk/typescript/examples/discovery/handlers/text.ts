// Tools for texts.
import { tool } from "protomcp";
import { z } from "zod";

export const words = tool({
  description: "Counts the words of a text.",
  input: z.object({ text: z.string() }),
  readOnly: true,
  handler: ({ text }) => String(text.split(/\s+/).filter(Boolean).length),
});
