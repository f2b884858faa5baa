// Instructions for the model (Agent Skills): pmcp dev refunds.ts
//
// Each folder below `skills` with a `SKILL.md` is a skill, served next to the tools and read again after a save.
import { skills, tool } from "protomcp";
import { z } from "zod";

skills("skills");

tool({
  name: "find",
  description: "Finds an order.",
  input: z.object({ number: z.int() }),
  readOnly: true,
  handler: ({ number }) => `order ${number}: two teapots, 12 days ago`,
});
