// The tools of the bench on the official SDK for TypeScript, which is the server itself.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "bench", version: "1" });
const options = { description: "Adds two numbers.", inputSchema: { a: z.number(), b: z.number() } };
const add = ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] });
server.registerTool("add", options, add);
server.registerTool("add_later", options, async (args) => add(args));
await server.connect(new StdioServerTransport());
