// A host of MCP Apps in a web page: the official client, and `AppBridge` of ext-apps between it and the page of a server.
// `?server=URL&tool=NAME&arguments=JSON`; the outcome is left in `window.outcome`.
import { AppBridge, PostMessageTransport, getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const MIME_TYPE = "text/html;profile=mcp-app";
const info = { name: "conformance", version: "1" };

async function show() {
  const options = new URLSearchParams(location.search);
  const capabilities = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [MIME_TYPE] } } };
  const client = new Client(info, { capabilities });
  await client.connect(new StreamableHTTPClientTransport(new URL(options.get("server"))));
  const { tools } = await client.listTools();
  const tool = tools.find((tool) => tool.name === options.get("tool"));
  const uri = getToolUiResourceUri(tool);
  const { contents } = await client.readResource({ uri });
  const frame = document.querySelector("iframe");
  const bridge = new AppBridge(client, info, { serverTools: {}, logging: {} });
  const initialized = new Promise((resolve) => (bridge.oninitialized = resolve));
  frame.srcdoc = "";
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = contents[0].text;
  await initialized;
  const params = { name: tool.name, arguments: JSON.parse(options.get("arguments")) };
  await bridge.sendToolInput({ arguments: params.arguments });
  const result = await client.callTool(params);
  await bridge.sendToolResult(result);
  return { tools, page: contents[0], result, app: bridge.getAppVersion() };
}

show().then(
  (outcome) => (window.outcome = outcome),
  (error) => (window.outcome = { error: String(error?.stack ?? error) }),
);
