// The program's own log in the client: pmcp dev logs.ts
//
// Lines that a handler prints become log messages of its call; the client chooses the level.
import { logConsole, tool } from "protomcp";
import { z } from "zod";

logConsole();

tool({
  name: "import",
  description: "Imports rows.",
  input: z.object({ rows: z.int() }),
  handler({ rows }, { log }) {
    console.debug(`begins with ${rows} rows`);
    if (rows > 100) log("warning", `${rows} rows are slow`, "database");
    console.info("imported");
    return `${rows} rows`;
  },
});
