// Views of results: content of every type, structured content, resources and messages of prompts.

import { button, download, h, size } from "./dom.js";
import { bytesOf } from "./envelope.js";
import { format, parse, searchable, tree } from "./json.js";
import { looksLikeMarkdown, markdown, MAX_MARKDOWN } from "./markdown.js";

/** The characters of a text that are shown first. */
const CHARACTERS = 100_000;
/** The longest text that is tried as JSON. */
const MAX_JSON = 2_000_000;

/** @typedef {(uri: string) => void} OpenResource */

/** The result of a call. @param {any} result @param {OpenResource} open */
export function resultView(result, open) {
  const { content = [], structuredContent, _meta, isError, ...rest } = result;
  const blocks = content.map((/** @type {any} */ block) => contentView(block, open));
  return h("div", { class: isError ? "result failed" : "result" },
    isError && h("p", { class: "problem" }, "The tool reports an error."),
    blocks.length === 0 && structuredContent === undefined && h("p", { class: "hint" }, "The result is empty."),
    blocks,
    structuredContent !== undefined && section("Structured content", searchable(structuredContent)),
    _meta && section("Metadata", tree(_meta, 1)),
    Object.keys(rest).length > 0 && section("More", tree(rest, 1)));
}

/** The contents of a resource. @param {any} result @param {OpenResource} open */
export function resourceView(result, open) {
  const contents = result.contents ?? [];
  return h("div", { class: "result" },
    contents.length === 0 && h("p", { class: "hint" }, "The resource is empty."),
    contents.map((/** @type {any} */ resource) => contentView({ type: "resource", resource }, open)));
}

/** Messages of a prompt, or of a question to the model. @param {any[]} messages @param {OpenResource} open */
export function messagesView(messages, open) {
  return h("div", { class: "messages" }, messages.map(({ role, content }) => h("div", { class: `message ${role}` },
    h("span", { class: "role" }, role),
    [content].flat().map((block) => contentView(typeof block === "string" ? { type: "text", text: block } : block, open)))));
}

/** One block of content. @param {any} block @param {OpenResource} open @returns {any} */
export function contentView(block, open) {
  const notes = annotations(block);
  switch (block?.type) {
    case "text": return h("div", { class: "block text" }, notes, textView(block.text, "text.txt"));
    case "image": return h("div", { class: "block" }, notes, mediaView(block.data, block.mimeType));
    case "audio": return h("div", { class: "block" }, notes, mediaView(block.data, block.mimeType));
    case "resource_link": return h("div", { class: "block link" }, notes,
      button(block.title ?? block.name ?? block.uri, () => open(block.uri), { class: "linklike", title: "Read the resource" }),
      h("p", { class: "hint" }, [block.uri, block.mimeType, block.size !== undefined && size(block.size), block.description].filter(Boolean).join(" · ")));
    case "resource": {
      const { uri = "", mimeType, text, blob } = block.resource ?? {};
      const name = uri.split("/").pop() || "resource";
      const view = text !== undefined ? textView(text, name, mimeType) : mediaView(blob ?? "", mimeType, name);
      return h("div", { class: "block" }, h("p", { class: "hint" }, [uri, mimeType].filter(Boolean).join(" · ")), notes, view);
    }
    default: return h("div", { class: "block" }, notes, tree(block, 3));
  }
}

/** @param {any} block */
function annotations(block) {
  const given = block?.annotations;
  if (!given || Object.keys(given).length === 0) return null;
  const words = Object.entries(given).map(([name, value]) => `${name}: ${[value].flat().join(", ")}`);
  return h("p", { class: "hint" }, words.join(" · "));
}

/** Text: as JSON if it is that, as Markdown if its type says so. @param {string} text @param {string} name @param {string} [type] */
function textView(text, name, type = "text/plain") {
  const json = asJson(text);
  const isMarkdown = text.length <= MAX_MARKDOWN && (/^text\/(x-)?markdown/i.test(type) || looksLikeMarkdown(text));
  const plain = () => {
    const pre = h("pre", { tabIndex: 0 }, text.slice(0, CHARACTERS));
    const rest = text.length - CHARACTERS;
    const all = rest > 0 && button(`Show all ${size(text.length)}`, () => {
      pre.textContent = text;
      all.remove();
    });
    return h("div", null, pre, all);
  };
  /** @type {[string, () => any] | null} */
  const other = json !== undefined ? ["JSON", () => searchable(json)] : isMarkdown ? ["Markdown", () => markdown(text)] : null;
  let isOther = json !== undefined || (other !== null && /markdown/i.test(type));
  const shown = () => (other && isOther ? other[1]() : plain());
  const body = h("div", null, shown());
  const toggle = other && button("", () => {
    isOther = !isOther;
    body.replaceChildren(shown());
    toggle.textContent = isOther ? "As text" : `As ${other[0]}`;
  }, { class: "quiet" });
  if (toggle && other) toggle.textContent = isOther ? "As text" : `As ${other[0]}`;
  const tools = h("div", { class: "tools" }, toggle,
    button("Copy", () => navigator.clipboard.writeText(text), { class: "quiet" }),
    text.length > 2000 && button("Save", () => download(name, text, type), { class: "quiet" }));
  return h("div", null, body, tools);
}

/** @param {string} text */
function asJson(text) {
  if (text.length > MAX_JSON || !/^\s*[[{]/.test(text)) return undefined;
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** A picture, sound, film, or another file. @param {string} data @param {string} [type] @param {string} [name] */
function mediaView(data, type = "application/octet-stream", name = `file.${type.split("/").pop()?.replace(/\W.*/, "")}`) {
  let bytes;
  try {
    bytes = bytesOf(data);
  } catch {
    return h("p", { class: "problem" }, `The data is not base64 (${size(data.length)}).`);
  }
  const tools = h("div", { class: "tools" }, h("span", { class: "hint" }, `${type}, ${size(bytes.length)}`),
    button("Save", () => download(name, bytes, type), { class: "quiet" }));
  const [kind] = type.split("/");
  if (kind !== "image" && kind !== "audio" && kind !== "video") return tools;
  const src = URL.createObjectURL(new Blob([bytes], { type }));
  const media = kind === "image" ? h("img", { src, alt: `Picture ${name}` }) : h(kind, { src, controls: true, preload: "metadata" });
  media.onerror = () => media.replaceWith(h("p", { class: "problem" }, `The browser cannot show this ${kind}.`));
  return h("div", { class: "media" }, media, tools);
}

/** @param {string} title @param {any} body */
function section(title, body) {
  return h("section", null, h("h3", null, title), body);
}

/** A value as JSON that can be copied. @param {any} value */
export function rawView(value) {
  const text = format(value);
  return textView(text.length > MAX_JSON ? `${text.slice(0, MAX_JSON)}…` : text, "result.json", "application/json");
}
