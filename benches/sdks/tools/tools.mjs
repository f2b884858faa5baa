// The tools of the bench on the SDK of this workspace.
import { tool } from "protomcp";
import { z } from "zod";

const input = z.object({ a: z.number(), b: z.number() });
tool({ name: "add", description: "Adds two numbers.", input, handler: ({ a, b }) => String(a + b) });
tool({ name: "add_later", description: "Adds two numbers.", input, handler: async ({ a, b }) => String(a + b) });
