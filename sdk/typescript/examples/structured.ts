// Results that programs can read: pmcp dev structured.ts. The schema of the result gives its type.
import { tool } from "protomcp";
import { z } from "zod";

tool({
  name: "forecast",
  title: "Weather forecast",
  description: "Forecasts the weather.",
  input: z.object({ city: z.string() }),
  output: z.object({ city: z.string(), degrees: z.int() }),
  readOnly: true,
  handler: ({ city }) => ({ city, degrees: 21 }),
});
