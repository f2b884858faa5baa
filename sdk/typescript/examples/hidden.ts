// Tools that appear when they make sense: pmcp dev hidden.ts
//
// A result shows and hides tools by name. The client is notified, in this session only. Clients of MCP 2026-07-28 have
// no session, and a list that does not change: for them, see workflow.ts.
import { tool, ToolError, ToolResult } from "protomcp";
import { z } from "zod";

const inside = ["look_inside", "close_vault"];

tool({
  name: "open_vault",
  description: "Opens the vault.",
  input: z.object({ code: z.string() }),
  handler({ code }) {
    if (code !== "1234")
      throw new ToolError("wrong code", { code: "WRONG_CODE", suggestion: "ask the owner", retryable: true });
    return new ToolResult({ content: "open", enable: inside, disable: ["open_vault"] });
  },
});

tool({
  name: "look_inside",
  description: "Looks inside.",
  readOnly: true,
  hidden: true,
  handler: () => "three gold coins",
});

tool({
  name: "close_vault",
  description: "Closes the vault.",
  hidden: true,
  handler: () => new ToolResult({ content: "closed", enable: ["open_vault"], disable: inside }),
});
