// The official TypeScript client of the second generation, `@modelcontextprotocol/client`, in the matrix of clients.
import {
  Client,
  LOG_LEVEL_META_KEY,
  ProtocolError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  SUPPORTED_PROTOCOL_VERSIONS,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { answers, capabilities, NEWEST, type Place, type Plan, Told, visit, type Words } from "./visit.mts";

const TOLD = [
  "notifications/message",
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed",
  "notifications/resources/updated",
] as const;

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
  const isNewest = place.revision === NEWEST;
  const client = new Client(
    { name: "matrix", version: "1" },
    {
      capabilities,
      ...(isNewest
        ? { versionNegotiation: { mode: "auto" as const } }
        : { supportedProtocolVersions: [place.revision] }),
    },
  );
  const told = new Told();
  client.setRequestHandler("sampling/createMessage", ({ params }) => answers.sample(params));
  client.setRequestHandler("elicitation/create", ({ params }) => answers.elicit(params));
  client.setRequestHandler("roots/list", answers.roots);
  for (const method of TOLD) client.setNotificationHandler(method, (event) => told.put(event as any));
  await client.connect(open(place, plan));
  const words: Words = {
    client,
    told,
    revision: () => client.getNegotiatedProtocolVersion(),
    call: (name, args = {}, options = {}) => client.callTool({ name, arguments: args as any }, options),
    callWithLogs: (name) => client.callTool({ name, arguments: {}, _meta: { [LOG_LEVEL_META_KEY]: "info" } }),
    code: (error) => (error instanceof ProtocolError ? error.code : undefined),
    // It shows either as the code of the newest revision.
    notFound: () => [-32602],
    // It turns the pages itself; where there are several, a page has two entries.
    all: async (list, member) => {
      const found: any = (await client[`list${list}`]())[member as never];
      if (plan.pages && found.length <= 2) throw new Error("something is missing");
      return found;
    },
    listen: async (filter) => {
      const subscription = await client.listen(filter);
      return { close: () => subscription.close(), honored: subscription.honoredFilter };
    },
  };
  await visit(words, place, plan);
  await client.close();
}

// The first of all that it knows was a draft.
const revisions = [...SUPPORTED_PROTOCOL_VERSIONS.filter((revision) => revision >= "2024-11-05"), NEWEST];
const plan: Plan = JSON.parse(process.argv[2]);
for (const transport of ["stdio", "http", "sse"] as const) {
  for (const revision of plan[transport] ? revisions : []) {
    if (transport !== "sse" || revision !== NEWEST) await connect({ transport, revision }, plan);
  }
}
