// The official TypeScript client of the first generation, `@modelcontextprotocol/sdk`, in the matrix of clients.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LATEST_PROTOCOL_VERSION,
  ListRootsRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { answers, capabilities, has, is, type Place, type Plan, Told, visit, type Words } from "./visit.mts";

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

/** A call as a task: made, followed to its end, found again; one that asks its user; one that is cancelled. */
async function tasks(client: Client) {
  const { tasks } = client.experimental;
  const begin = (name: string, args: object) =>
    tasks.callToolStream({ name, arguments: args as any }, undefined, { task: { ttl: 60_000 } });
  const follow = async (name: string, args: object) => {
    const seen: any[] = [];
    for await (const message of begin(name, args)) seen.push(message);
    const [made, last] = [seen[0], seen.at(-1)];
    is([made.type, last.type], ["taskCreated", "result"]);
    return { id: made.task.taskId, text: last.result.content[0].text as string };
  };

  const { id, text } = await follow("slow_compute", { seconds: 0.1, label: "a task" });
  has(text, 'Computed "a task"');
  is((await tasks.getTask(id)).status, "completed");
  const again = await tasks.getTaskResult(id, CallToolResultSchema);
  is(again.content, [{ type: "text", text }]);
  has((await follow("confirm_delete", { filename: "a-file" })).text, "Accept");

  for await (const message of begin("slow_compute", { seconds: 600, label: "too long" })) {
    if (message.type !== "taskCreated") throw new Error(`${JSON.stringify(message)} is not a new task`);
    const { taskId } = message.task;
    const listed: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await tasks.listTasks(cursor);
      listed.push(...page.tasks.map((task) => task.taskId));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    has(listed, taskId);
    is((await tasks.cancelTask(taskId)).status, "cancelled");
    is((await tasks.getTask(taskId)).status, "cancelled");
    break;
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
    tasks: () => tasks(client),
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
