// One connection of a TypeScript client in the matrix, feature by feature. report.py says what a client is given and prints.
//
// Both generations of the official client fit: what they do not share is in the `Words` that each brings along.
export const NEWEST = "2026-07-28";
const WATCHED = "test://watched-resource";
/** The milliseconds that a feature has: the time of all tests. */
const PATIENCE = 1000 * Number(process.env.PMCP_PATIENCE ?? 120);

export type Plan = { stdio: string[]; http: string; sse: string; server: string; pages: boolean; without: string[] };
export type Place = { transport: "stdio" | "http" | "sse"; revision: string };
export type Event = { method: string; params?: any };

/** What a client says in its own way. */
export interface Words {
  client: any;
  told: Told;
  revision(): string | undefined;
  call(name: string, args?: object, options?: object): Promise<any>;
  /** A call that logs, in revisions where each request says what it wants to hear. */
  callWithLogs(name: string): Promise<any>;
  all(list: "Tools" | "Resources" | "Prompts", member: string): Promise<any[]>;
  /** The code of an error of the protocol; undefined for what is none. */
  code(error: unknown): number | undefined;
  /** Which codes say that a resource is not there. */
  notFound(isNewest: boolean): number[];
  listen?(filter: object): Promise<{ close(): Promise<void>; honored: any }>;
  /** Tries all that it can do with tasks. */
  tasks?(): Promise<void>;
}

/** What a client was told by itself, in the order in which it came. */
export class Told {
  seen: Event[] = [];
  private more = () => {};

  put(event: Event) {
    this.seen.push(event);
    this.more();
  }

  /** Waits for something that fits, and takes it and all before it out. */
  async until(wanted: (event: Event) => boolean): Promise<Event> {
    for (;;) {
      const at = this.seen.findIndex(wanted);
      if (at >= 0) return this.seen.splice(0, at + 1)[at];
      await new Promise<void>((resolve) => (this.more = resolve));
    }
  }
}

class Lacks extends Error {}

/** Ends a feature that the client has not, and fails when it has it by now. */
export function lacks(reason: string, isSo: boolean): never {
  if (!isSo) throw new Error(`this is no longer true: ${reason}`);
  throw new Lacks(reason);
}

export function is(seen: unknown, expected: unknown) {
  const [a, b] = [JSON.stringify(seen), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${a} is not ${b}`);
}

export function has(seen: string | string[], part: string) {
  if (!seen.includes(part)) throw new Error(`${part} is not in ${JSON.stringify(seen)}`);
}

/** What the host of every TypeScript client answers. */
export const answers = {
  sample: (params: any) => {
    const asked = params.messages.at(-1).content;
    const text = (Array.isArray(asked) ? asked[0] : asked).text;
    return {
      role: "assistant" as const,
      content: { type: "text" as const, text: `a model's answer to ${text}` },
      model: "a-model",
      stopReason: "endTurn",
    };
  },
  elicit: (params: any) => {
    if (params.mode === "url") {
      return { action: params.url === "https://example.com/sign-in" ? ("accept" as const) : ("decline" as const) };
    }
    const names: string[] = params.requestedSchema.required ?? [];
    return { action: "accept" as const, content: Object.fromEntries(names.map((name) => [name, `my ${name}`])) };
  },
  roots: () => ({ roots: [{ uri: "file:///work", name: "work" }] }),
};

export const capabilities = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
};

async function refused(words: Words, ask: Promise<unknown>, ...codes: number[]) {
  const error = await ask.then(
    () => Promise.reject(new Error("what must be refused was answered")),
    (error) => error,
  );
  const seen = words.code(error);
  if (seen === undefined) throw error;
  if (!codes.includes(seen)) throw new Error(`${seen} is none of ${codes}`);
}

function features(words: Words, { transport, revision }: Place, plan: Plan): Record<string, () => Promise<void>> {
  const { client, told, call } = words;
  const isNewest = revision === NEWEST;
  const text = async (name: string, args: object = {}) => {
    const result = await call(name, args);
    if (result.isError) throw new Error(JSON.stringify(result.content));
    return result.content[0].text as string;
  };
  const get = async (name: string, args?: object) => (await client.getPrompt({ name, arguments: args })).messages;
  const listening = async (filter: object, work: () => Promise<void>) => {
    if (words.listen === undefined) lacks("it cannot listen", client.listen === undefined);
    const subscription = await words.listen(filter);
    try {
      await work();
    } finally {
      await subscription.close();
    }
  };
  const change = (tool: string, method: string, wish: string) => async () => {
    const work = async () => {
      await text(tool);
      await told.until((event) => event.method === `notifications/${method}/list_changed`);
    };
    await (isNewest ? listening({ [wish]: true }, work) : work());
  };

  return {
    open: async () => {
      is(words.revision(), revision);
      is(client.getServerVersion()?.name, plan.server);
      is(client.getServerCapabilities().tools, { listChanged: true });
    },
    ping: async () => {
      if (!isNewest) return void (await client.ping());
      const error = await client.ping().then(
        () => undefined,
        (error: unknown) => error,
      );
      lacks("the revision has no ping", error !== undefined);
    },
    tools: async () => {
      const names = (await words.all("Tools", "tools")).map((tool) => tool.name);
      is(names, [...new Set(names)].sort());
      has(names, "test_structured");
    },
    call: async () => is(await text("test_simple_text"), "This is a simple text response for testing."),
    content: async () => {
      const kinds: string[][] = [];
      for (const tool of ["image_content", "audio_content", "embedded_resource", "multiple_content_types", "resource_link"]) {
        kinds.push((await call(`test_${tool}`)).content.map((block: any) => block.type));
      }
      is(kinds, [["image"], ["audio"], ["resource"], ["text", "image", "resource"], ["resource_link"]]);
    },
    structured: async () => {
      const result = await call("test_structured", { a: 2, b: 3 });
      is(result.structuredContent, { sum: 5 });
      is(JSON.parse(result.content[0].text), { sum: 5 });
    },
    failure: async () => {
      const result = await call("test_error_handling");
      is([result.isError, result.content[0].text], [true, "This tool intentionally returns an error for testing"]);
      is((await call("test_structured", { a: "two", b: 3 })).isError, true);
    },
    refusal: async () => {
      await refused(words, call("no_such_tool"), -32602);
      await refused(words, client.getPrompt({ name: "no_such_prompt" }), -32602);
    },
    progress: async () => {
      let seen: unknown[] = [];
      const onprogress = ({ progress, total, message }: any) => seen.push([progress, total, message]);
      // An answer that comes in one read with reports is taken first, and ends the listening: that may happen to all.
      for (let tries = 0; tries < 10 && seen.length === 0; tries += 1) {
        seen = [];
        await call("test_tool_with_progress", {}, { onprogress });
      }
      // The oldest revision knows no messages there.
      const message = (n: number) => (revision === "2024-11-05" ? null : `Completed step ${n} of 100`);
      if (seen.length === 0) throw new Error("there is no progress");
      is(seen, [0, 50, 100].slice(0, seen.length).map((n) => [n, 100, message(n)]));
    },
    cancellation: async () => {
      const controller = new AbortController();
      const running = call("test_wait", {}, { signal: controller.signal, onprogress: () => controller.abort() });
      await running.then(
        () => Promise.reject(new Error("what was given up was answered")),
        () => {},
      );
      is(await text("test_given_up"), "given up");
    },
    logging: async () => {
      if (isNewest) {
        await words.callWithLogs("test_tool_with_logging");
      } else {
        await client.setLoggingLevel("error");
        await call("test_tool_with_logging");
        await client.setLoggingLevel("info");
        await call("test_tool_with_logging");
      }
      await told.until(({ params }) => params?.data === "Tool execution completed");
      is(told.seen.filter(({ method }) => method === "notifications/message"), []);
    },
    resources: async () => {
      has((await words.all("Resources", "resources")).map((found) => found.uri), WATCHED);
      const [read] = (await client.readResource({ uri: "test://static-text" })).contents;
      is([read.text, read.mimeType], ["This is the content of the static text resource.", "text/plain"]);
      has((await client.readResource({ uri: "test://static-binary" })).contents[0].blob, "iVBORw0KGgo");
      await refused(words, client.readResource({ uri: "test://nothing" }), ...words.notFound(isNewest));
    },
    templates: async () => {
      const listed = (await client.listResourceTemplates()).resourceTemplates;
      is(listed.map((template: any) => template.uriTemplate), ["test://template/{id}/data"]);
      const [read] = (await client.readResource({ uri: "test://template/7/data" })).contents;
      is(JSON.parse(read.text).id, "7");
    },
    subscription: async () => {
      const touched = async () => {
        await text("test_touch_resource");
        const { params } = await told.until(({ method }) => method === "notifications/resources/updated");
        is(params.uri, WATCHED);
      };
      if (isNewest) return listening({ resourceSubscriptions: [WATCHED] }, touched);
      await client.subscribeResource({ uri: WATCHED });
      await touched();
      await client.unsubscribeResource({ uri: WATCHED });
      await text("test_touch_resource");
      await client.ping();
      is(told.seen.filter(({ method }) => method === "notifications/resources/updated"), []);
    },
    prompts: async () => {
      has((await words.all("Prompts", "prompts")).map((prompt) => prompt.name), "test_prompt_with_arguments");
      const [said] = await get("test_prompt_with_arguments", { arg1: "a", arg2: "b" });
      is(said.content.text, "Prompt with arguments: arg1='a', arg2='b'");
    },
    "prompt content": async () => {
      const kinds = (await get("test_prompt_with_image")).map((message: any) => message.content.type);
      is(kinds, ["image", "text"]);
      const [embedded] = await get("test_prompt_with_embedded_resource", { resourceUri: "test://static-text" });
      is(embedded.content.type, "resource");
    },
    completion: async () => {
      const ref = { type: "ref/prompt", name: "test_prompt_with_arguments" };
      const given = await client.complete({ ref, argument: { name: "arg1", value: "par" } });
      is(given.completion.values, ["paris", "park", "party"]);
    },
    sampling: async () => has(await text("test_sampling", { prompt: "hello" }), "a model's answer to hello"),
    form: async () => {
      const said = await text("test_elicitation", { message: "Who are you?" });
      has(said, "action=Accept");
      has(said, "my username");
    },
    page: async () => is(await text("test_elicitation_url"), "The user chose Accept"),
    roots: async () => has(await text("test_input_required_result_list_roots"), "file:///work"),
    several: async () => has(await text("test_input_required_result_multiple_inputs"), "Accept"),
    "roots changed": async () => {
      if (isNewest) {
        const error = await client.sendRootsListChanged().then(
          () => undefined,
          (error: unknown) => error,
        );
        lacks("the revision has no such message", error !== undefined);
      }
      await client.sendRootsListChanged();
      is(await text("test_roots_changed"), "other roots");
    },
    "tools changed": change("test_trigger_tool_change", "tools", "toolsListChanged"),
    "prompts changed": change("test_trigger_prompt_change", "prompts", "promptsListChanged"),
    "resources changed": change("test_trigger_resource_change", "resources", "resourcesListChanged"),
    listen: async () => {
      if (words.listen === undefined) lacks("it cannot listen", client.listen === undefined);
      if (!isNewest) {
        const error = await words.listen({ toolsListChanged: true }).then(
          () => undefined,
          (error) => error,
        );
        lacks("only 2026-07-28 has it", error !== undefined);
      }
      const wish = { toolsListChanged: true, resourceSubscriptions: [WATCHED] };
      const first = await words.listen(wish);
      is([first.honored.toolsListChanged, first.honored.resourceSubscriptions], [true, [WATCHED]]);
      // Calls go on concurrently, and a second one does not disturb the first.
      await listening({ promptsListChanged: true }, async () => {
        await text("test_trigger_prompt_change");
        await told.until(({ method }) => method === "notifications/prompts/list_changed");
      });
      await text("test_trigger_tool_change");
      await told.until(({ method }) => method === "notifications/tools/list_changed");
      await first.close();
    },
    tasks: async () => {
      if (words.tasks === undefined) lacks("it has no methods for tasks", client.experimental === undefined);
      await words.tasks();
    },
    resumption: async () => {
      if (transport !== "http") lacks("only streams of Streamable HTTP are resumed", true);
      if (isNewest) lacks("the revision has no resumption", true);
      is(await text("test_reconnection"), "Reconnection test completed successfully");
    },
    headers: async () => {
      if (!isNewest || transport === "stdio") lacks("only HTTP of 2026-07-28 repeats arguments in headers", true);
      is(await text("test_custom_header", { value: "grün & blau" }), "Got grün & blau");
    },
  };
}

/** Tries features in their order; what comes first must not need what comes later. */
export async function visit(words: Words, place: Place, plan: Plan) {
  for (const [feature, attempt] of Object.entries(features(words, place, plan))) {
    if ([feature, `${feature}@${place.revision}`].some((name) => plan.without.includes(name))) continue;
    let late: NodeJS.Timeout | undefined;
    const patience = new Promise((_, reject) => {
      late = setTimeout(() => reject(new Error("nothing happens")), PATIENCE);
    });
    let [ok, detail]: [boolean | null, string] = [true, ""];
    try {
      await Promise.race([attempt(), patience]);
    } catch (error: any) {
      [ok, detail] = [error instanceof Lacks ? null : false, error instanceof Lacks ? error.message : String(error.stack)];
    }
    clearTimeout(late);
    console.log(JSON.stringify({ ...place, feature, ok, detail }));
  }
}
