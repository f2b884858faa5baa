// A tool that asks the host's model while it runs: pmcp dev sampling.ts
import { AskError, tool, ToolError } from "protomcp";
import { z } from "zod";

tool({
  name: "title",
  description: "Finds a title for a text, with the help of the host's model.",
  input: z.object({ text: z.string() }),
  async handler({ text }, { sample }) {
    try {
      const answer = await sample(`A title for: ${text}`, { systemPrompt: "Answer with the title alone.", maxTokens: 50 });
      return `${answer.text} (says ${answer.model})`;
    } catch (error) {
      // The client may have no model, and its user may decline.
      if (error instanceof AskError) throw new ToolError(error.message, { code: "NO_MODEL" });
      throw error;
    }
  },
});
