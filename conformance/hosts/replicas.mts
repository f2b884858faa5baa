// Hosts we did not write: the official TypeScript client calls `work` of steps.py again and again, in many concurrent sessions.
//
// Usage: tsx replicas.mts URL CLIENTS STEPS          until the end of standard input
//
// Prints what replicas.py prints.
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

// A client that waits for a server that is suspended.
const PATIENCE = 20_000;

const [url, clients, steps] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
let isOver = false;

async function work(client: number) {
  for (let number = 1; !isOver; ) {
    let call: string | null = null;
    let seen: number[] = [];
    const session = new Client({ name: "conformance", version: "1" });
    try {
      await session.connect(new StreamableHTTPClientTransport(new URL(url)), { timeout: PATIENCE });
      while (!isOver) {
        const name = `typescript-${client}-${number++}`;
        [call, seen] = [name, []];
        const result: any = await session.callTool({ name: "work", arguments: { call, steps } }, undefined, {
          timeout: PATIENCE,
          onprogress: ({ progress }) => seen.push(progress),
        });
        const text: string = result.content[0].text;
        tell(client, name, seen, text.startsWith(`${name} `) ? null : `another answer: ${text}`);
        call = null;
        await pause(500);
      }
    } catch (error) {
      tell(client, call ?? "a session", seen, String(error).slice(0, 200));
      await pause(500);
    }
    await session.close().catch(() => {});
  }
}

function tell(client: number, call: string, seen: number[], error: string | null) {
  console.log(JSON.stringify({ client: `typescript-${client}`, call, steps: seen, error }));
}

const all = Promise.all(Array.from({ length: clients }, (_, client) => work(client)));
for await (const _ of process.stdin);
isOver = true;
await all;
process.exit(0);
