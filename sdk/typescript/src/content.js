/**
 * Content of results, messages and prompts.
 *
 * @module
 */

import { readFile } from "node:fs/promises";
import { basename, extname } from "node:path";
import { Buffer } from "node:buffer";
import { pathToFileURL } from "node:url";

/** @import { Annotations, AudioContent, Content, EmbeddedResource, ImageContent, ResourceLink, TextContent } from "./types.js" */

/** Media types by the ending of a file. */
const MIME_TYPES = /** @type {Record<string, string>} */ ({
  ".txt": "text/plain",
  ".md": "text/markdown",
  ".html": "text/html",
  ".css": "text/css",
  ".csv": "text/csv",
  ".js": "text/javascript",
  ".ts": "text/typescript",
  ".py": "text/x-python",
  ".rs": "text/x-rust",
  ".xml": "text/xml",
  ".json": "application/json",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
  ".toml": "application/toml",
  ".pdf": "application/pdf",
  ".zip": "application/zip",
  ".wasm": "application/wasm",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".svg": "image/svg+xml",
  ".avif": "image/avif",
  ".ico": "image/x-icon",
  ".wav": "audio/wav",
  ".mp3": "audio/mpeg",
  ".ogg": "audio/ogg",
  ".flac": "audio/flac",
  ".m4a": "audio/mp4",
});

/**
 * The media type that the name of a file stands for.
 *
 * @param {string} path
 */
export const mimeTypeOf = (path) => MIME_TYPES[extname(path).toLowerCase()] ?? "application/octet-stream";

/** @param {string} mimeType */
const isText = (mimeType) => /^text\/|^application\/(json|yaml|toml)|\+(json|xml)$/.test(mimeType);

/** @param {Uint8Array | string} data bytes, or base64 */
const base64 = (data) =>
  typeof data === "string" ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");

/**
 * @param {string} text
 * @param {Annotations} [annotations]
 * @returns {TextContent}
 */
export const text = (text, annotations) => ({ type: "text", text, ...(annotations && { annotations }) });

/**
 * @param {Uint8Array | string} data bytes, or base64
 * @param {string} [mimeType]
 * @param {Annotations} [annotations]
 * @returns {ImageContent}
 */
export const image = (data, mimeType = "image/png", annotations) => ({
  type: "image",
  data: base64(data),
  mimeType,
  ...(annotations && { annotations }),
});

/**
 * @param {Uint8Array | string} data bytes, or base64
 * @param {string} [mimeType]
 * @param {Annotations} [annotations]
 * @returns {AudioContent}
 */
export const audio = (data, mimeType = "audio/wav", annotations) => ({
  type: "audio",
  data: base64(data),
  mimeType,
  ...(annotations && { annotations }),
});

/**
 * A resource inside a result.
 *
 * @param {string} uri
 * @param {string | Uint8Array} body
 * @param {string} [mimeType]
 * @returns {EmbeddedResource}
 */
export function embedded(uri, body, mimeType) {
  const type = mimeType && { mimeType };
  return {
    type: "resource",
    resource: typeof body === "string" ? { uri, ...type, text: body } : { uri, ...type, blob: base64(body) },
  };
}

/**
 * A reference to a resource that the client may read.
 *
 * @param {string} uri
 * @param {Partial<Omit<ResourceLink, "type" | "uri">>} [about]
 * @returns {ResourceLink}
 */
export const link = (uri, about) => ({ type: "resource_link", uri, name: about?.name ?? uri, ...about });

/**
 * The content of a file: an image, a sound, or an embedded resource.
 *
 * @param {string | URL} path
 * @param {{ mimeType?: string }} [options]
 * @returns {Promise<ImageContent | AudioContent | EmbeddedResource>}
 */
export async function file(path, options = {}) {
  const bytes = await readFile(path);
  const name = path instanceof URL ? path.pathname : path;
  const mimeType = options.mimeType ?? mimeTypeOf(basename(name));
  if (mimeType.startsWith("image/") && mimeType !== "image/svg+xml") return image(bytes, mimeType);
  if (mimeType.startsWith("audio/")) return audio(bytes, mimeType);
  const uri = path instanceof URL ? path.href : pathToFileURL(path).href;
  return embedded(uri, isText(mimeType) ? bytes.toString() : bytes, mimeType);
}

/**
 * True for a content block of MCP.
 *
 * @param {any} value
 * @returns {value is Content}
 */
export function isContent(value) {
  switch (value?.type) {
    case "text":
      return typeof value.text === "string";
    case "image":
    case "audio":
      return typeof value.data === "string" && typeof value.mimeType === "string";
    case "resource_link":
      return typeof value.uri === "string" && typeof value.name === "string";
    case "resource":
      return typeof value.resource?.uri === "string";
    default:
      return false;
  }
}

/**
 * True for an object that is neither a list, nor bytes, nor content.
 *
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
export const isPlain = (value) =>
  typeof value === "object" &&
  value !== null &&
  !Array.isArray(value) &&
  !isContent(value) &&
  !(value instanceof Uint8Array);

/**
 * The texts of content.
 *
 * @param {Content | Content[]} content
 */
export const textOf = (content) =>
  [content]
    .flat()
    .map((block) => (block.type === "text" ? block.text : ""))
    .filter(Boolean)
    .join("\n");
