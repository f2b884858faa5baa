// A counter that survives a save: pmcp dev visits.ts
import { setTimeout as sleep } from "node:timers/promises";
import { handOver, tool } from "protomcp";
import { z } from "zod";

// Goes from one version of this file to the next. A version that adds a field can still read the state of one without.
let visits = { count: 0, last: "" };
handOver(
  () => visits,
  (before) => (visits = { ...visits, ...before }),
);

tool({
  name: "visit",
  description: "Counts a visit.",
  input: z.object({ name: z.string(), stay: z.int().default(0).describe("The time of the visit, in milliseconds.") }),
  async handler({ name, stay }) {
    await sleep(stay);
    visits.count += 1;
    visits.last = name;
    return String(visits.count);
  },
});
