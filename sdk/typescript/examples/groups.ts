// Related tools in one group: pmcp dev groups.ts
//
// `notes` is one tool with an argument `action`; the arguments of each action are checked by its own schema. `shapes`
// becomes a tool for each action, such as `shapes_square`.
import { ToolError, toolGroup } from "protomcp";
import { z } from "zod";

const kept = new Map<string, string>();

toolGroup({
  name: "notes",
  description: "Keeps short notes.",
  strategy: "union",
  actions: {
    write: {
      description: "Keeps a note.",
      input: z.object({
        title: z.string(),
        text: z.string().default(""),
        color: z.enum(["red", "green", "blue"]).default("blue"),
      }),
      handler({ title, text, color }) {
        kept.set(title, text);
        return `kept ${title} in ${color}`;
      },
    },
    read: {
      description: "Reads a note, or lists all of them.",
      input: z.object({ title: z.string().optional(), all: z.boolean().default(false) }),
      handler({ title, all }) {
        if (title !== undefined && all) throw new ToolError("give a title or all, not both", { code: "CONTRADICTION" });
        if (all) return [...kept.keys()].sort().join(", ");
        if (title === undefined) throw new ToolError("which note?", { suggestion: "give a title, or all = true" });
        const text = kept.get(title);
        if (text === undefined) throw new ToolError(`no note "${title}"`, { suggestion: "write it first" });
        return text;
      },
    },
  },
});

toolGroup({
  name: "shapes",
  actions: {
    circle: {
      description: "Area of a circle.",
      readOnly: true,
      input: z.object({ radius: z.number() }),
      handler: ({ radius }) => (Math.PI * radius * radius).toFixed(2),
    },
    square: {
      description: "Area of a square.",
      readOnly: true,
      input: z.object({ side: z.number() }),
      handler: ({ side }) => (side * side).toFixed(2),
    },
  },
});
