// Resources, a template, a prompt and completion: pmcp dev notes.ts
import { prompt, resource, resourceTemplate } from "protomcp";
import { z } from "zod";

const notes = new Map([
  ["tea", "Steep for four minutes."],
  ["cake", "Bake for forty minutes."],
]);

const names = (typed: string) => [...notes.keys()].filter((name) => name.startsWith(typed)).sort();

resource({
  uri: "notes://all",
  name: "all",
  description: "The names of all notes.",
  mimeType: "text/plain",
  handler: () => [...notes.keys()].join(", "),
});

resourceTemplate({
  uriTemplate: "notes://one/{name}",
  name: "one",
  description: "One note.",
  mimeType: "text/plain",
  complete: { name: names },
  // Nothing means that there is no such resource.
  handler: (_, { params }) => notes.get(params.name),
});

prompt({
  name: "summarize",
  description: "Asks for a summary of a note.",
  input: z.object({ name: z.string(), tone: z.string().default("plain") }),
  complete: { name: names },
  handler: ({ name, tone }) => [
    `Summarize in a ${tone} tone: ${notes.get(name) ?? name}`,
    { role: "assistant", content: "In short:" },
  ],
});
