// Types as authors see them: compiled, never run. Each expected error is an error.
import {
  app,
  image,
  prompt,
  resource,
  resourceTemplate,
  sidecar,
  telemetry,
  tool,
  toolGroup,
  ToolResult,
  withJsonSchema,
  workflow,
} from "protomcp";
import type { Answer, Checked, FromSchema, Provision, StandardSchema, ToolContext } from "protomcp";
import { connect } from "protomcp/testing";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import * as mini from "zod/mini";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(..._: Equal<A, B> extends true ? [] : ["the types differ"]) => {};

// Arguments are those after the check: defaults are there.
tool({
  name: "zod",
  input: z.object({ a: z.number(), mode: z.enum(["x", "y"]).default("x"), note: z.string().optional() }),
  handler(args, context) {
    same<typeof args, { a: number; mode: "x" | "y"; note?: string | undefined }>();
    same<typeof context, ToolContext>();
    return args.mode;
  },
});
tool({ name: "args", args: z.object({ q: z.string() }), handler: ({ q }) => (same<typeof q, string>(), q) });
tool({ name: "ark", input: type({ n: "number" }), handler: (args) => (same<typeof args, { n: number }>(), args.n) });
tool({
  name: "valibot",
  input: toStandardJsonSchema(v.object({ n: v.number() })),
  handler: ({ n }) => (same<typeof n, number>(), n),
});
const small = mini.object({ n: mini.number() });
tool({
  name: "mini",
  input: withJsonSchema(small, mini.toJSONSchema(small)),
  handler: ({ n }) => (same<typeof n, number>(), n),
});

// Values have the types that their functions return, yield or resolve.
const user = () => "ann";
const pool = async () => ({ size: 3 });
async function* cursor({ get }: Provision) {
  const { size } = await get(pool);
  yield size;
}
tool({
  name: "values",
  input: z.object({ a: z.number() }),
  values: { user, pool, cursor, twice: ({ args }) => (args.a as number) * 2 },
  handler({ a }, { progress }, values) {
    same<typeof values, { readonly user: string; readonly pool: { size: number }; readonly cursor: number; readonly twice: number }>();
    progress(a);
    return values.user;
  },
});
tool({
  name: "unknown_value",
  values: { user },
  // @ts-expect-error
  handler: (_args, _context, { owner }) => owner,
});
resource({ uri: "x://values", values: { user }, handler: (uri, _, { user }) => (same<typeof user, string>(), uri + user) });
prompt({ name: "values", values: { user }, handler: (_, __, { user }) => (same<typeof user, string>(), user) });
telemetry(({ phase, duration }) => {
  same<typeof phase, "start" | "progress" | "success" | "error">();
  same<typeof duration, number>();
});
// @ts-expect-error
sidecar({ name: "no command" });

// JSON Schema gives types as well.
tool({
  name: "json",
  input: {
    type: "object",
    properties: {
      a: { type: "number" },
      tags: { type: "array", items: { enum: ["x", "y"] } },
      on: { type: ["boolean", "null"] },
    },
    required: ["a"],
  },
  handler(args) {
    same<typeof args, { a: number; tags?: ("x" | "y")[]; on?: boolean | null }>();
    return String(args.a);
  },
});
same<FromSchema<{ type: "object"; properties: { a: { const: 1 } }; required: readonly ["a"] }>, { a: 1 }>();
same<FromSchema<{ anyOf: readonly [{ type: "string" }, { type: "integer" }] }>, string | number>();
same<Checked<typeof small>, { n: number }>();
same<Checked<StandardSchema<string, Date>>, Date>();

// Without a schema the arguments are not known.
tool({ name: "none", handler: (args) => (same<typeof args, Record<string, unknown>>(), image("aGk=")) });

// @ts-expect-error: an argument that the schema does not have
tool({ name: "wrong", input: z.object({ a: z.number() }), handler: ({ b }) => b });
// @ts-expect-error: a tool has a handler
tool({ name: "wrong" });
// @ts-expect-error: a hint is true or false
tool({ name: "wrong", readOnly: "yes", handler: () => "" });

// Results fit the output schema, or are a ToolResult.
const Weather = z.object({ celsius: z.number(), wind: z.number().default(0) });
tool({ name: "weather", output: Weather, handler: () => ({ celsius: 3 }) });
tool({ name: "weather", output: Weather, handler: async () => new ToolResult({ structured: { celsius: 3 } }) });
tool({
  name: "weather",
  output: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  handler: () => ({ n: 1 }),
});
// @ts-expect-error: not a number
tool({ name: "wrong", output: Weather, handler: () => ({ celsius: "3" }) });
tool({
  name: "wrong",
  output: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  // @ts-expect-error: a member is missing
  handler: () => ({}),
});

// Questions have typed answers.
tool({
  name: "asks",
  async handler(_, { ask, askPage, sample, roots, tools, log, progress, signal, caller }) {
    const answer = await ask("Sure?", z.object({ sure: z.boolean() }));
    same<typeof answer, Answer<{ sure: boolean }>>();
    if (answer.accepted) same<typeof answer.content, { sure: boolean }>();
    else same<typeof answer.content, undefined>();
    const plain = await ask("Name?", { type: "object", properties: { name: { type: "string" } }, required: ["name"] });
    if (plain.action === "accept") same<typeof plain.content, { name: string }>();
    const { accepted } = await askPage("Log in", "https://example.org");
    same<typeof accepted, boolean>();
    same<Awaited<ReturnType<typeof tools.enable>>, string[]>();
    log.info({ any: "thing" });
    progress(1, 2);
    fetch("https://example.org", { signal }).catch(() => {});
    return `${(await sample("hi")).text} ${(await roots())[0]?.uri} ${caller.user?.subject}`;
  },
});

// The variables of a template.
resourceTemplate({
  uriTemplate: "db://{table}/rows{/id}{?limit,offset}",
  complete: { table: (typed) => ["users"].filter((one) => one.startsWith(typed)) },
  handler(uri, { params }) {
    same<typeof params, { table: string; id: string; limit: string; offset: string }>();
    return uri;
  },
});
// @ts-expect-error: not a variable of the template
resourceTemplate({ uriTemplate: "a://{b}", complete: { c: () => [] }, handler: () => "" });
resource({ uri: "a://b", handler: async () => new Uint8Array(3) });

prompt({
  name: "typed",
  input: z.object({ n: z.coerce.number() }),
  handler: ({ n }) => (same<typeof n, number>(), `${n}`),
});
prompt({
  name: "plain",
  arguments: [{ name: "topic" }],
  handler: (args) => [{ role: "user", content: args.topic ?? "" }],
});
// @ts-expect-error: no such role
prompt({ name: "wrong", handler: () => [{ role: "system", content: "" }] });

toolGroup({
  name: "db",
  actions: {
    query: { input: z.object({ sql: z.string() }), handler: ({ sql }) => (same<typeof sql, string>(), sql) },
    count: { args: z.object({ table: z.string() }), handler: ({ table }) => table.length },
  },
});
workflow({
  name: "deploy",
  first: "review",
  state: () => ({ pr: 0 }),
  steps: { review: { handler: (_, { run }) => (same<typeof run.state, { pr: number }>(), run.state.pr) } },
});
tool({ name: "page", app: app({ name: "page", html: "<p>" }), handler: () => "" });

const client = await connect({ ask: () => ({ action: "accept" }) });
const { text, isError } = await client.call("zod", { a: 1 });
same<typeof text, string>();
same<typeof isError, boolean>();
await client.close();
