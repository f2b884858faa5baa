// Markdown as elements. Nothing of it is markup of the page: text stays text, and only links to http and https are links.

import { h } from "./dom.js";

/** The longest text that is shown so. */
export const MAX_MARKDOWN = 100_000;
/** The most blocks within each other. */
const MAX_DEPTH = 10;

/** True for a text that is probably meant as Markdown. @param {string} text */
export function looksLikeMarkdown(text) {
  return text.length <= MAX_MARKDOWN && /^(#{1,6} \S|```|[-*+] \S|\d+[.)] \S|> |\|.*\|[ \t]*$)|\*\*\S|\]\(https?:/m.test(text);
}

/** @param {string} text */
export function markdown(text) {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  return h("div", { class: "markdown" }, blocks(lines, 0));
}

/** @param {string[]} lines @param {number} depth @returns {any[]} */
function blocks(lines, depth) {
  if (depth > MAX_DEPTH) return [h("p", { class: "text" }, lines.join("\n"))];
  const made = [];
  for (let place = 0; place < lines.length;) {
    const line = lines[place];
    const end = blockEnd(lines, place);
    const part = lines.slice(place, end);
    if (/^\s*$/.test(line)) place += 1;
    else {
      made.push(block(part, depth));
      place = end;
    }
  }
  return made;
}

const STARTS = /^(#{1,6} |```|~~~|\s*[-*+] |\s*\d+[.)] |>|\s*([-*_] *){3,}$)/;

/** The line after the block that begins here. @param {string[]} lines @param {number} from */
function blockEnd(lines, from) {
  const line = lines[from];
  const run = (/** @type {(line: string) => boolean} */ belongs) => {
    let end = from + 1;
    while (end < lines.length && belongs(lines[end])) end += 1;
    return end;
  };
  const fence = /^(```|~~~)/.exec(line)?.[1];
  if (fence) return Math.min(run((next) => !next.startsWith(fence)) + 1, lines.length);
  if (/^#{1,6} /.test(line) || /^\s*([-*_] *){3,}$/.test(line)) return from + 1;
  if (line.startsWith(">")) return run((next) => next.startsWith(">"));
  if (/^\s*([-*+]|\d+[.)]) /.test(line)) return run((next) => /^\s*([-*+]|\d+[.)]) |^\s+\S/.test(next));
  if (line.trimStart().startsWith("|")) return run((next) => next.trimStart().startsWith("|"));
  return run((next) => /\S/.test(next) && !STARTS.test(next));
}

/** @param {string[]} lines @param {number} depth @returns {any} */
function block(lines, depth) {
  const [first] = lines;
  const heading = /^(#{1,6}) (.*)$/.exec(first);
  // One level below the heading of the item, whatever the text begins with.
  if (heading) return h("h3", { class: `level-${heading[1].length}` }, inline(heading[2]));
  if (/^(```|~~~)/.test(first)) return h("pre", { tabIndex: 0 }, lines.slice(1, /^(```|~~~)\s*$/.test(lines.at(-1) ?? "") ? -1 : undefined).join("\n"));
  if (/^\s*([-*_] *){3,}$/.test(first)) return h("hr");
  if (first.startsWith(">")) return h("blockquote", null, blocks(lines.map((line) => line.replace(/^> ?/, "")), depth + 1));
  if (/^\s*([-*+]|\d+[.)]) /.test(first)) return list(lines, depth);
  if (first.trimStart().startsWith("|") && /^[\s|:-]+$/.test(lines[1] ?? "")) return table(lines);
  return h("p", null, inline(lines.join("\n")));
}

/** @param {string[]} lines @param {number} depth */
function list(lines, depth) {
  const marker = /^(\s*)([-*+]|\d+[.)]) /;
  const indent = marker.exec(lines[0])?.[1].length ?? 0;
  /** @type {string[][]} */ const items = [];
  for (const line of lines) {
    const found = marker.exec(line);
    if (found && found[1].length <= indent) items.push([line.slice(found[0].length)]);
    else items.at(-1)?.push(line.slice(indent + 2));
  }
  const rest = (/** @type {string[]} */ more) => (more.some((line) => marker.test(line)) ? blocks(more, depth + 1) : inline(`\n${more.join("\n")}`));
  return h(/^\s*\d/.test(lines[0]) ? "ol" : "ul", null, items.map(([text, ...more]) => h("li", null, inline(text), more.length > 0 && rest(more))));
}

/** @param {string[]} lines */
function table(lines) {
  const cells = (/** @type {string} */ line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const [head, , ...rows] = lines;
  const row = (/** @type {string} */ line, /** @type {string} */ name) => h("tr", null, cells(line).map((cell) => h(name, null, inline(cell))));
  return h("table", null, h("thead", null, row(head, "th")), h("tbody", null, rows.map((line) => row(line, "td"))));
}

// Each part has a bound, so that no text takes long.
const INLINE = /`([^`]{1,500})`|\*\*([^*]{1,500})\*\*|__([^_]{1,500})__|\*([^*\s][^*]{0,500})\*|\[([^\]]{0,300})\]\(([^()\s]{1,1000})\)/g;

/** @param {string} text @returns {any[]} */
function inline(text) {
  const made = [];
  let end = 0;
  for (const found of text.matchAll(INLINE)) {
    const [whole, code, strong, alsoStrong, soft, words, url] = found;
    made.push(text.slice(end, found.index));
    end = found.index + whole.length;
    if (code !== undefined) made.push(h("code", null, code));
    else if (soft !== undefined) made.push(h("em", null, soft));
    else if (url === undefined) made.push(h("strong", null, strong ?? alsoStrong));
    else if (/^https?:\/\//i.test(url)) made.push(h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, words || url));
    else made.push(`${words} (${url})`);
  }
  return [...made, text.slice(end)];
}
