// Steps in an order that the server defines: pmcp dev workflow.ts
//
// The list of tools stays the same. The first step returns a handle, which the other steps take. A step out of order is
// refused with the steps that can run.
import { tool, workflow } from "protomcp";
import { z } from "zod";

tool({ name: "status", description: "Says whether the build is green.", readOnly: true, handler: () => "green" });

workflow({
  name: "release",
  first: "choose",
  state: () => ({ version: "" }),
  steps: {
    choose: {
      description: "Chooses the version.",
      input: z.object({ version: z.string() }),
      next: ["test", "fix"],
      handler: ({ version }) => `releasing ${version}`,
    },
    test: {
      description: "Runs the tests.",
      input: z.object({ passed: z.boolean().default(true) }),
      next: ["publish"],
      // After an error the steps that could run still can.
      handler({ passed }) {
        if (!passed) throw new Error("two tests fail");
        return "tests pass";
      },
    },
    fix: { description: "Mends what the tests found.", next: ["test"], handler: () => "mended" },
    publish: { description: "Publishes.", handler: () => "it is out" },
  },
});
