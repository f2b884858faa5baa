// Everything that the official conformance suite asks a server for.
//
// Run: pmcp run everything.ts --transport http --port 8080
import { setTimeout as sleep } from "node:timers/promises";

import {
  audio,
  completion,
  embedded,
  image,
  prompt,
  resource,
  resourceTemplate,
  TaskError,
  text,
  tool,
} from "protomcp";
import type { Context, ToolContext } from "protomcp";
import { z } from "zod";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

// ---------------------------------------------------------------- results

tool({
  name: "test_simple_text",
  description: "Returns text",
  handler: () => "This is a simple text response for testing.",
});
tool({ name: "test_image_content", description: "Returns a picture", handler: () => image(PNG) });
tool({ name: "test_audio_content", description: "Returns a sound", handler: () => audio(WAV) });
tool({
  name: "test_embedded_resource",
  description: "Returns a resource",
  handler: () => embedded("test://embedded-resource", "This is an embedded resource content.", "text/plain"),
});
tool({
  name: "test_multiple_content_types",
  description: "Returns several kinds of content",
  handler: () => [
    text("Multiple content types test:"),
    image(PNG),
    embedded("test://mixed-content-resource", '{"test":"data"}', "application/json"),
  ],
});
tool({
  name: "test_error_handling",
  description: "Fails",
  handler: () => {
    throw new Error("This tool intentionally returns an error for testing");
  },
});
tool({
  name: "greet",
  description: "Greets",
  input: z.object({ name: z.string() }),
  handler: ({ name }) => `Hello, ${name}!`,
});

// ---------------------------------------------------------------- log messages, progress, time

async function logged(_: unknown, { log }: ToolContext) {
  for (const step of ["started", "processing", "completed"]) {
    log.info(`Tool execution ${step}`);
    await sleep(50);
  }
  return "Tool with logging executed successfully";
}
tool({ name: "test_tool_with_logging", description: "Logs while it works", handler: logged });
tool({ name: "test_logging_tool", description: "Would log, if the client wanted it", handler: logged });
tool({
  name: "test_tool_with_progress",
  description: "Reports progress",
  async handler(_, { progress }) {
    for (const done of [0, 50, 100]) {
      progress(done, 100, `Completed step ${done} of 100`);
      await sleep(50);
    }
    return "Tool with progress executed successfully";
  },
});
tool({
  name: "test_reconnection",
  description: "Takes a while",
  async handler() {
    await sleep(100);
    return "Reconnection test completed successfully";
  },
});

// ---------------------------------------------------------------- schemas

tool({
  name: "test_custom_header",
  description: "Takes an argument that is a header, too",
  input: {
    type: "object",
    properties: { value: { type: "string", description: "Any text", "x-mcp-header": "Value" } },
    required: ["value"],
  },
  handler: ({ value }) => `Got ${value}`,
});
tool({
  name: "json_schema_2020_12_tool",
  description: "Has a schema with keywords of JSON Schema 2020-12",
  input: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: {
        $anchor: "addressDef",
        type: "object",
        properties: { street: { type: "string" }, city: { type: "string" } },
      },
    },
    properties: {
      name: { type: "string" },
      address: { $ref: "#/$defs/address" },
      contactMethod: { type: "string", enum: ["phone", "email"] },
      phone: { type: "string" },
      email: { type: "string" },
    },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
    then: { required: ["phone"] },
    else: { required: ["email"] },
    additionalProperties: false,
  },
  handler: (args) => JSON.stringify(args),
});

// ---------------------------------------------------------------- lists that change

let changes = 0;
function declareTrigger() {
  const trigger = tool({
    name: "test_trigger_tool_change",
    description: `Changes the tools; did so ${changes} times`,
    handler: () => {
      changes++;
      trigger.remove();
      declareTrigger();
      return "told";
    },
  });
}
declareTrigger();
let extra = prompt({ name: "extra", description: "Changes with test_trigger_prompt_change", handler: () => "0" });
tool({
  name: "test_trigger_prompt_change",
  description: "Changes the prompts",
  handler: () => {
    extra.remove();
    extra = prompt({ name: "extra", description: `Has changed ${++changes} times`, handler: () => `${changes}` });
    return "told";
  },
});

// ---------------------------------------------------------------- questions

const askName = async ({ ask }: Context, key: string) => {
  const answer = await ask("What is your name?", z.object({ name: z.string().optional() }), { key });
  return `The user answered ${JSON.stringify(answer.content ?? {})}`;
};
const askModel = async ({ sample }: Context, question = "What is the capital of France?", key = "capital_question") =>
  `The model answered ${(await sample(question, { maxTokens: 100, key })).text}`;

tool({
  name: "test_sampling",
  description: "Asks the model",
  input: z.object({ prompt: z.string().describe("The question for the model") }),
  handler: ({ prompt }, context) => askModel(context, prompt),
});
tool({
  name: "test_missing_capability",
  description: "Needs a client with a model",
  handler: (_, context) => askModel(context),
});
tool({ name: "test_streaming_elicitation", description: "Answers without asking", handler: () => "done" });
tool({
  name: "test_elicitation",
  description: "Asks the user",
  input: z.object({ message: z.string().describe("The question for the user") }),
  async handler({ message }, { ask }) {
    const answer = await ask(
      message,
      z.object({ username: z.string().describe("User's response"), email: z.string() }),
    );
    return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content)}`;
  },
});
tool({
  name: "test_elicitation_sep1034_defaults",
  description: "Asks with defaults for every kind of value",
  async handler(_, { ask }) {
    const answer = await ask("Please review the values", {
      type: "object",
      properties: {
        name: { type: "string", description: "User name", default: "John Doe" },
        age: { type: "integer", description: "User age", default: 30 },
        score: { type: "number", description: "User score", default: 95.5 },
        status: {
          type: "string",
          description: "User status",
          enum: ["active", "inactive", "pending"],
          default: "active",
        },
        verified: { type: "boolean", description: "Verification status", default: true },
      },
      required: [],
    });
    return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content)}`;
  },
});
tool({
  name: "test_elicitation_sep1330_enums",
  description: "Asks with every kind of choice",
  async handler(_, { ask }) {
    const titled = ["First", "Second", "Third"].map((title, index) => ({ const: `value${index + 1}`, title }));
    const options = ["option1", "option2", "option3"];
    const answer = await ask("Please choose", {
      type: "object",
      properties: {
        untitledSingle: { type: "string", enum: options },
        titledSingle: { type: "string", oneOf: titled },
        legacyEnum: {
          type: "string",
          enum: ["opt1", "opt2", "opt3"],
          enumNames: ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti: { type: "array", items: { type: "string", enum: options }, minItems: 1, maxItems: 3 },
        titledMulti: { type: "array", items: { anyOf: titled }, minItems: 1, maxItems: 3 },
      },
      required: [],
    });
    return `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content)}`;
  },
});

const asks = (name: string, key: string) =>
  tool({
    name: `test_input_required_result_${name}`,
    description: "Asks the user",
    handler: (_, context) => askName(context, key),
  });
asks("elicitation", "user_name");
asks("tampered_state", "confirm");
tool({
  name: "test_input_required_result_sampling",
  description: "Asks the model",
  handler: (_, context) => askModel(context),
});
tool({
  name: "test_input_required_result_list_roots",
  description: "Asks for the roots",
  handler: async (_, { roots }) => `The roots are ${JSON.stringify(await roots({ key: "client_roots" }))}`,
});
tool({
  name: "test_input_required_result_request_state",
  description: "Asks, and remembers",
  async handler(_, context) {
    const before = "state-ok";
    return `${before}: ${await askName(context, "confirm")}`;
  },
});
tool({
  name: "test_input_required_result_multiple_inputs",
  description: "Asks three things concurrently",
  async handler(_, context) {
    const [name, greeting, roots] = await Promise.all([
      askName(context, "user_name"),
      askModel(context, "Greet the user", "greeting"),
      context.roots({ key: "client_roots" }),
    ]);
    return `${name} ${greeting} ${roots.length}`;
  },
});
tool({
  name: "test_input_required_result_multi_round",
  description: "Asks twice",
  handler: async (_, context) => `${await askName(context, "step1")}, then ${await askName(context, "step2")}`,
});
tool({
  name: "test_input_required_result_capabilities",
  description: "Asks the user if the client can, else the model",
  handler: (_, context) => (context.caller.capabilities.elicitation ? askName(context, "user_name") : askModel(context)),
});
prompt({
  name: "test_input_required_result_prompt",
  description: "A prompt that asks first",
  handler: (_, context) => askName(context, "user_context"),
});

// ---------------------------------------------------------------- tasks

tool({
  name: "slow_compute",
  description: "Computes for this many seconds",
  input: z.object({ seconds: z.number(), label: z.string().default("") }),
  task: "optional",
  async handler({ seconds, label }, { progress, signal, beginTask }) {
    if (seconds > 0) beginTask();
    progress(0, 1, `computing ${label}`);
    await sleep(seconds * 1000, undefined, { signal });
    return `Computed ${label} for ${seconds} seconds`;
  },
});
tool({
  name: "failing_job",
  description: "Fails after a second",
  task: "required",
  async handler() {
    await sleep(1000);
    throw new Error("the job has failed");
  },
});
tool({
  name: "protocol_error_job",
  description: "Ends without a result",
  task: "optional",
  handler: (_, { beginTask }) => {
    beginTask();
    throw new TaskError("the job could not be carried out");
  },
});
tool({
  name: "confirm_delete",
  description: "Asks before it deletes",
  input: z.object({ filename: z.string().describe("The file to delete") }),
  task: "optional",
  async handler({ filename }, { ask, beginTask }) {
    beginTask();
    const answer = await ask(`Delete ${filename}?`, z.object({ confirm: z.boolean() }), { key: "confirm" });
    return `${filename}: ${answer.content?.confirm ? "deleted" : "kept"}`;
  },
});
tool({
  name: "multi_input",
  description: "Asks two things concurrently",
  task: "optional",
  async handler(_, { ask, beginTask }) {
    beginTask();
    const form = z.object({ name: z.string() });
    const [first, second] = await Promise.all([
      ask("First?", form, { key: "first" }),
      ask("Second?", form, { key: "second" }),
    ]);
    return `${first.content?.name} and ${second.content?.name}`;
  },
});
tool({
  name: "test_tool_with_task",
  description: "Asks, then goes on as a task",
  task: "required",
  async handler(_, context) {
    const answer = await askName(context, "user_name");
    context.beginTask();
    await sleep(200);
    return answer;
  },
});

// ---------------------------------------------------------------- resources

resource({
  uri: "test://static-text",
  name: "Static Text Resource",
  description: "Text that does not change",
  mimeType: "text/plain",
  handler: () => "This is the content of the static text resource.",
});
resource({
  uri: "test://static-binary",
  name: "Static Binary Resource",
  description: "A picture that does not change",
  mimeType: "image/png",
  handler: () => Buffer.from(PNG, "base64"),
});
resource({
  uri: "test://watched-resource",
  name: "Watched Resource",
  description: "Text that clients subscribe to",
  mimeType: "text/plain",
  handler: () => "Watched resource content",
});
resourceTemplate({
  uriTemplate: "test://template/{id}/data",
  name: "Resource Template",
  description: "Data of something with an id",
  mimeType: "application/json",
  handler: (_, { params }) => JSON.stringify({ id: params.id, templateTest: true }),
});

// ---------------------------------------------------------------- prompts

prompt({
  name: "test_simple_prompt",
  description: "A prompt without arguments",
  handler: () => "This is a simple prompt for testing.",
});
prompt({
  name: "test_prompt_with_arguments",
  description: "A prompt with two arguments",
  input: z.object({
    arg1: z.string().describe("First test argument"),
    arg2: z.string().describe("Second test argument"),
  }),
  handler: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
});
completion("ref/prompt", "test_prompt_with_arguments", "arg1", (typed) =>
  ["testing", "tested", "paris", "park", "party"].filter((word) => word.startsWith(typed)),
);
prompt({
  name: "test_prompt_with_embedded_resource",
  description: "A prompt with a resource in it",
  input: z.object({ resourceUri: z.string().describe("URI of the resource to embed") }),
  handler: ({ resourceUri }) => [
    { role: "user", content: embedded(resourceUri, "Embedded resource content for testing.", "text/plain") },
    "Please process the embedded resource above.",
  ],
});
prompt({
  name: "test_prompt_with_image",
  description: "A prompt with a picture in it",
  handler: () => [{ role: "user", content: image(PNG) }, "Please analyze the image above."],
});
