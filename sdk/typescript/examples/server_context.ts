// Values that handlers get from the server, not from the model: pmcp dev server_context.ts
//
// `values` names the functions that provide them. They see the context of the call, and never reach the schema.
import { tool } from "protomcp";
import type { Provision } from "protomcp";
import { z } from "zod";

// The authenticated user of the call, or the one that the server is for.
const user = ({ context }: Provision) => context.caller.user?.subject ?? process.env.NOTES_USER ?? "guest";

tool({
  name: "whoami",
  description: "Says who asks, and where.",
  input: z.object({ workspace: z.string().default("home") }),
  readOnly: true,
  values: { user },
  handler: ({ workspace }, _context, { user }) => `${user} in ${workspace}`,
});
