// The official TypeScript client of the first generation, `@modelcontextprotocol/sdk`, in the matrix of clients.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LATEST_PROTOCOL_VERSION,
  ListRootsRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { answers, capabilities, is, type Place, type Plan, Told, visit, type Words } from "./visit.mts";

function open({ transport }: Place, plan: Plan) {
  switch (transport) {
    case "stdio": {
      const [command, ...args] = plan.stdio;
      return new StdioClientTransport({ command, args, env: process.env as Record<string, string> });
    }
    case "http":
      return new StreamableHTTPClientTransport(new URL(plan.http));
    case "sse":
      return new SSEClientTransport(new URL(plan.sse));
  }
}

async function connect(place: Place, plan: Plan) {
  const client = new Client({ name: "matrix", version: "1" }, { capabilities });
  const told = new Told();
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => answers.sample(params));
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => answers.elicit(params));
  client.setRequestHandler(ListRootsRequestSchema, answers.roots);
  client.fallbackNotificationHandler = async (event) => told.put(event as any);
  const transport = open(place, plan);
  let agreed: string | undefined;
  // It keeps to itself what was agreed on; its transport is told.
  const tell = (transport as any).setProtocolVersion?.bind(transport);
  (transport as any).setProtocolVersion = (version: string) => {
    agreed = version;
    tell?.(version);
  };
  await client.connect(transport);
  const words: Words = {
    client,
    told,
    revision: () => agreed,
    call: (name, args = {}, options = {}) => client.callTool({ name, arguments: args as any }, undefined, options),
    callWithLogs: () => Promise.reject(new Error("it does not speak that revision")),
    code: (error) => (error instanceof McpError ? error.code : undefined),
    notFound: () => [-32002],
    all: async (list, member) => {
      const found: any[] = [];
      let [cursor, pages] = [undefined as string | undefined, 0];
      do {
        const page: any = await client[`list${list}`]({ cursor });
        found.push(...page[member]);
        [cursor, pages] = [page.nextCursor, pages + 1];
      } while (cursor !== undefined);
      is(pages > 1, plan.pages);
      return found;
    },
  };
  await visit(words, place, plan);
  await client.close();
}

const plan: Plan = JSON.parse(process.argv[2]);
// It offers the newest revision that it knows, and no other.
for (const transport of ["stdio", "http", "sse"] as const) {
  if (plan[transport]) await connect({ transport, revision: LATEST_PROTOCOL_VERSION }, plan);
}
