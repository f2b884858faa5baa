// The tools of the bench on the official SDK for TypeScript, which is the server itself: over stdio, or on a port.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

function makeServer() {
  const server = new McpServer({ name: "bench", version: "1" });
  const options = { description: "Adds two numbers.", inputSchema: { a: z.number(), b: z.number() } };
  const add = ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] });
  server.registerTool("add", options, add);
  server.registerTool("add_later", options, async (args) => add(args));
  return server;
}

/** The transports by session. */
const sessions = new Map();

async function serve(request, response) {
  let transport = sessions.get(request.headers["mcp-session-id"]);
  if (!transport) {
    transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    await makeServer().connect(transport);
  }
  await transport.handleRequest(request, response);
}

const port = process.argv[2];
if (port) createServer(serve).listen(Number(port), "127.0.0.1");
else await makeServer().connect(new StdioServerTransport());
