// Middleware that the bridge runs around every call of this process: pmcp dev interception.ts
//
// Before the call it may change the arguments or reject the call; after it, it may change the result. The lowest
// priority comes first before the call and last after it.
import { middleware, tool } from "protomcp";
import { z } from "zod";

middleware({
  name: "limits",
  priority: 10,
  before: ({ args }) => (Number(args.amount) > 100 ? { reject: "at most 100 at a time" } : undefined),
});

middleware({
  name: "currency",
  priority: 20,
  before: ({ args }) => ({ args: { currency: "EUR", ...args } }),
  after: ({ content }) => ({ content: JSON.parse(JSON.stringify(content).replaceAll("EUR", "€")) }),
});

tool({
  name: "pay",
  description: "Pays an amount.",
  input: z.object({ amount: z.int(), currency: z.string().default("") }),
  handler: ({ amount, currency }) => `paid ${amount} ${currency}`,
});
