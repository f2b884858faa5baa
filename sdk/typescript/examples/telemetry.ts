// Every call reported to a function: pmcp dev telemetry.ts
//
// Its output goes to the log of pmcp, never to the host. A function that fails does not affect the call.
import { telemetry, tool, ToolError } from "protomcp";
import { z } from "zod";

telemetry(({ tool, phase, result = "" }) => console.log(`telemetry: ${tool} ${phase} ${result}`.trimEnd()));

tool({
  name: "divide",
  description: "Divides.",
  input: z.object({ a: z.int(), b: z.int() }),
  readOnly: true,
  handler({ a, b }) {
    if (b === 0) throw new ToolError("this cannot be divided");
    return String(Math.trunc(a / b));
  },
});
