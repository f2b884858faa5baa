// Long work that reports progress and stops when it is cancelled: pmcp dev progress.ts
import { setTimeout as sleep } from "node:timers/promises";
import { tool } from "protomcp";
import { z } from "zod";

tool({
  name: "count",
  description: "Counts slowly.",
  input: z.object({ to: z.int(), pause_ms: z.int().default(20) }),
  async handler({ to, pause_ms }, { progress, signal }) {
    for (let number = 1; number <= to; number++) {
      // Rejects when the call is cancelled.
      await sleep(pause_ms, undefined, { signal });
      progress(number, to, `at ${number}`);
    }
    return `counted to ${to}`;
  },
});

tool({
  name: "wait",
  description: "Waits, and tidies up when it is cancelled.",
  input: z.object({ seconds: z.number() }),
  async handler({ seconds }, { signal }) {
    signal.addEventListener("abort", () => console.log("tidied up"));
    await sleep(seconds * 1000, undefined, { signal });
    return "waited";
  },
});
