// Code around every handler, inside the tool process: pmcp dev retries.ts
import { tool, ToolError, use } from "protomcp";
import { z } from "zod";

let attempts = 0;

// Calls a tool again that has failed, if the same call may succeed later.
use((call, next) =>
  next().catch((error) => {
    if (error instanceof ToolError && error.retryable) return next();
    throw error;
  }),
);

tool({
  name: "weather",
  description: "Tells the weather of a city.",
  input: z.object({ city: z.string() }),
  readOnly: true,
  handler({ city }) {
    attempts += 1;
    if (attempts % 2 === 1) throw new ToolError("the network is busy", { retryable: true });
    if (city !== "ulm") throw new ToolError("found nothing", { code: "NOT_FOUND", suggestion: "Try ulm." });
    return `mild, at attempt ${attempts}`;
  },
});
