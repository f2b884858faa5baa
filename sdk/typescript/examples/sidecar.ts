// A second program that lives as long as the tools need it: pmcp dev sidecar.ts
//
// It starts at the first call, which waits until the health check succeeds, and it ends with the tool process.
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { sidecar, tool } from "protomcp";
import { z } from "zod";

const SERVE = `
  const { createServer } = require("node:http");
  const say = (path) => "the sidecar says " + path.slice(1);
  createServer((request, answer) => answer.end(say(request.url))).listen(Number(process.argv[1]), "127.0.0.1");
`;

const probe = createServer().listen(0, "127.0.0.1");
await once(probe, "listening");
const { port } = probe.address() as AddressInfo;
await once(probe.close(), "close");
const url = `http://127.0.0.1:${port}`;

sidecar({ name: "says", command: [process.execPath, "-e", SERVE, String(port)], healthCheck: `${url}/health` });

tool({
  name: "ask",
  description: "Asks the sidecar.",
  input: z.object({ about: z.string() }),
  readOnly: true,
  handler: async ({ about }) => (await fetch(`${url}/${about}`)).text(),
});
