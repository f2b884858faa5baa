// A host we did not write: the official TypeScript client drives an MCP server through one fixed visit.
//
// Usage: tsx client.mts COMMAND [ARG...]
//
// Prints what it saw as one JSON object; client.py prints the same one. The server is expected to run basics.py.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { McpError, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

type Arguments = Record<string, unknown>;

async function visit(command: string, args: string[]) {
  const seen = { calls: {} as any, errors: {} as any, progress: [] as unknown[], cancelled: false } as any;
  const client = new Client({ name: "conformance", version: "1" });
  const changed = new Promise<void>((resolve) =>
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => resolve()),
  );
  await client.connect(new StdioClientTransport({ command, args, env: process.env as Record<string, string> }));

  const call = async (label: string, name: string, args: Arguments = {}) => {
    try {
      const result: any = await client.callTool({ name, arguments: args });
      seen.calls[label] = {
        text: result.content.map((block: any) => block.text),
        isError: Boolean(result.isError),
        structured: result.structuredContent ?? null,
      };
    } catch (error) {
      if (!(error instanceof McpError)) throw error;
      seen.errors[label] = { code: error.code, message: error.message };
    }
  };
  const names = async () => (await client.listTools()).tools.map((tool) => tool.name);

  seen.server = client.getServerVersion()?.name;
  seen.tools = await names();
  await call("echo", "echo", { text: "hello" });
  await call("add", "add", { a: 1, b: 2 });
  await call("greet", "greet", { name: "Jürgen" });
  await call("structured", "structured");
  await call("weather_json", "weather_json", { city: "Ulm" });
  await call("weather_prose", "weather_prose", { city: "Ulm" });
  await call("fail_with_code", "fail_with_code");
  await call("raise_error", "raise_error");
  await call("large", "large", { size: 70_000 });
  await call("unknown", "no_such_tool");
  // This client handles an answer before the notifications that came in the same read, so the tool pauses in between.
  await client.callTool({ name: "count", arguments: { to: 3, pause_ms: 50 } }, undefined, {
    onprogress: ({ progress, total, message }) => seen.progress.push([progress, total ?? null, message ?? null]),
  });
  try {
    await client.callTool({ name: "sleep_ms", arguments: { ms: 1000 } }, undefined, { signal: AbortSignal.timeout(100) });
  } catch {
    seen.cancelled = true;
  }
  await call("reveal", "reveal");
  await changed;
  seen.tools_after = await names();
  await call("after", "echo", { text: "still here" });
  await client.close();
  return seen;
}

const [command, ...args] = process.argv.slice(2);
console.log(JSON.stringify(await visit(command, args)));
