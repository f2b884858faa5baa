/**
 * The variables of a URI that fits a template of RFC 6570.
 *
 * @module
 */

/** @typedef {{ pattern: RegExp, names: string[] }} Template */

/** @type {Map<string, Template>} */
const compiled = new Map();

/**
 * @param {string} template
 * @param {string} uri
 * @returns {Record<string, string> | undefined} nothing if the URI does not fit
 */
export function matchTemplate(template, uri) {
  let known = compiled.get(template);
  if (!known) compiled.set(template, (known = compile(template)));
  const found = known.pattern.exec(uri);
  if (!found) return undefined;
  /** @type {Record<string, string>} */
  const params = {};
  known.names.forEach((name, index) => {
    const value = found[index + 1];
    if (value !== undefined) params[name] = decode(value);
  });
  return params;
}

/**
 * @param {string} template
 * @returns {Template}
 */
function compile(template) {
  /** @type {string[]} */
  const names = [];
  const parts = template.split(/\{([^}]*)\}/);
  const pattern = parts.map((part, index) =>
    index % 2 ? expression(part, names) : part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"),
  );
  return { pattern: new RegExp(`^${pattern.join("")}$`, "u"), names };
}

/**
 * @param {string} text
 * @param {string[]} names receives the names of the variables
 */
function expression(text, names) {
  const operator = /^[+#./;?&]/.exec(text)?.[0] ?? "";
  const variables = text
    .slice(operator.length)
    .split(",")
    .map((one) => one.replace(/\*$|:\d+$/, ""));
  names.push(...variables);
  const one = "+#".includes(operator) && operator ? "(.+?)" : "([^/?#&,;]+)";
  switch (operator) {
    case "?":
    case "&":
      // Each variable may be absent.
      return variables.map((name) => `(?:[?&]${name}=([^&#]*))?`).join("");
    case ";":
      return variables.map((name) => `(?:;${name}=([^;/?#]*))?`).join("");
    case "/":
    case ".":
      return variables.map(() => `\\${operator}${one}`).join("");
    case "#":
      return `#${variables.map(() => one).join(",")}`;
    default:
      return variables.map(() => one).join(",");
  }
}

/** @param {string} value */
function decode(value) {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
