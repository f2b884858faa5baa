// A page next to the results of a tool (MCP Apps): pmcp dev app.ts. Other hosts get the text.
//
// A host that shows apps fills the page, a chart, with each result; the controls of the page call a tool that the model does
// not see. A save of app.html shows without a new process.
import { app, tool } from "protomcp";
import { z } from "zod";

const page = app({
  name: "forecast",
  uri: "ui://weather/forecast",
  file: new URL("app.html", import.meta.url),
  prefersBorder: true,
});

// `shown`: the caller sees the page.
const forecast = z.object({ city: z.string(), day: z.int(), degrees: z.int(), shown: z.boolean() });

tool({
  name: "forecast",
  description: "Forecasts the weather of today.",
  app: page,
  input: z.object({ city: z.string() }),
  output: forecast,
  readOnly: true,
  handler: ({ city }, { caller }) => ({ city, day: 0, degrees: 21, shown: caller.showsApps }),
});

tool({
  name: "forecast_day",
  description: "Forecasts the weather of a later day.",
  app: page,
  visibility: ["app"],
  input: z.object({ city: z.string(), day: z.int() }),
  output: forecast,
  readOnly: true,
  handler: ({ city, day }, { caller }) => ({ city, day, degrees: 21 - day, shown: caller.showsApps }),
});
