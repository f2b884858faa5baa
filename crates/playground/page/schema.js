// The shapes of JSON Schema, as a form sees them.

/**
 * @typedef {object} Shape
 * @property {"choice" | "boolean" | "number" | "integer" | "string" | "object" | "list" | "tuple" | "union" | "null" | "any"} kind
 * @property {any} schema with its references resolved
 * @property {{label: string, value: any}[]} [choices]
 * @property {{label: string, schema: any}[]} [variants]
 */

/** The references that follow each other; more are a circle. */
const MAX_REFERENCES = 32;
/** The schemas of `allOf` within each other, and the variants with one choice. */
const MAX_PARTS = 200;
/** The values that are searched for an anchor. */
const MAX_SEARCHED = 20_000;

/**
 * The shape of a schema. A schema that a form cannot express is of kind "any".
 *
 * @param {any} schema
 * @param {any} root the document in which references are looked up
 * @param {number} [depth] the schemas before this one
 * @returns {Shape}
 */
export function shape(schema, root, depth = 0) {
  const found = depth < MAX_REFERENCES ? resolve(schema, root) : {};
  if (found === true || found === undefined || found === null) return { kind: "any", schema: {} };
  if ("const" in found) return choice(found, [{ label: found.title ?? text(found.const), value: found.const }]);
  if (Array.isArray(found.enum)) {
    const names = Array.isArray(found.enumNames) ? found.enumNames : [];
    return choice(found, found.enum.map((/** @type {any} */ value, /** @type {number} */ place) => ({ label: names[place] ?? text(value), value })));
  }
  const options = found.oneOf ?? found.anyOf;
  if (Array.isArray(options) && options.length > 0) return ofOptions(found, options, root, depth);
  if (Array.isArray(found.type)) {
    const variants = found.type.map((/** @type {string} */ type) => ({ label: type, schema: { ...found, type } }));
    return variants.length === 1 ? shape(variants[0].schema, root, depth + 1) : { kind: "union", schema: found, variants };
  }
  return { kind: plainKind(found), schema: found };
}

/** @param {any} schema @param {Shape["choices"]} choices @returns {Shape} */
function choice(schema, choices) {
  return { kind: "choice", schema, choices };
}

/** @param {any} found @param {any[]} options @param {any} root @param {number} depth @returns {Shape} */
function ofOptions(found, options, root, depth) {
  const { oneOf, anyOf, ...rest } = found;
  const resolved = options.map((option) => resolve(option, root));
  if (resolved.every((option) => option && typeof option === "object" && "const" in option)) {
    return choice(found, resolved.map((option) => ({ label: option.title ?? text(option.const), value: option.const })));
  }
  const { title, description, default: preset, ...shared } = rest;
  const variants = resolved.map((option, place) => {
    const schema = typeof option === "object" && option ? merge(shared, option) : {};
    return { label: variantLabel(options[place], option, place), schema };
  });
  return variants.length === 1 ? shape({ ...rest, ...variants[0].schema }, root, depth + 1) : { kind: "union", schema: found, variants };
}

/** @param {any} given @param {any} option @param {number} place */
function variantLabel(given, option, place) {
  if (option?.title) return option.title;
  for (const [name, property] of Object.entries(option?.properties ?? {})) {
    if (property && typeof property === "object" && "const" in property) return `${name}: ${text(property.const)}`;
  }
  const reference = given?.$ref?.split("/").pop();
  const type = Array.isArray(option?.type) ? option.type.join(" or ") : option?.type;
  const items = type === "array" && option.items?.type ? `list of ${option.items.type}` : type;
  return reference ?? items ?? `variant ${place + 1}`;
}

/** @param {any} schema @returns {Shape["kind"]} */
function plainKind(schema) {
  switch (schema.type) {
    case "boolean": case "number": case "integer": case "string": case "null": return schema.type;
    case "object": return "object";
    case "array": return Array.isArray(schema.prefixItems) || Array.isArray(schema.items) ? "tuple" : "list";
    case undefined: return schema.properties ? "object" : schema.items || schema.prefixItems ? "list" : "any";
    default: return "any";
  }
}

/**
 * The schema behind its references, with the members of `allOf` merged into it.
 *
 * @param {any} schema
 * @param {any} root
 * @param {{left: number}} [parts] the schemas that may still be merged
 * @returns {any}
 */
export function resolve(schema, root, parts = { left: MAX_PARTS }) {
  parts.left -= 1;
  if (parts.left < 0) return {};
  let found = schema;
  for (let count = 0; found && typeof found === "object" && typeof found.$ref === "string"; count += 1) {
    const target = count < MAX_REFERENCES ? lookUp(found.$ref, root) : undefined;
    if (target === undefined) return {};
    const { $ref, ...siblings } = found;
    found = typeof target === "object" ? { ...target, ...siblings } : target;
  }
  if (found && typeof found === "object" && Array.isArray(found.allOf)) {
    const { allOf, ...rest } = found;
    found = allOf.map((/** @type {any} */ part) => resolve(part, root, parts)).reduce(merge, rest);
  }
  return found;
}

/** @param {any} whole @param {any} part */
function merge(whole, part) {
  if (!part || typeof part !== "object") return whole;
  const merged = { ...whole, ...part };
  if (whole.properties || part.properties) merged.properties = { ...whole.properties, ...part.properties };
  if (whole.required || part.required) merged.required = [...new Set([...(whole.required ?? []), ...(part.required ?? [])])];
  return merged;
}

/** @param {string} reference @param {any} root */
function lookUp(reference, root) {
  if (reference === "#") return root;
  if (/^#[A-Za-z_]/.test(reference)) return anchored(reference.slice(1), root);
  if (!reference.startsWith("#/")) return undefined;
  let path;
  try {
    path = decodeURIComponent(reference.slice(2));
  } catch {
    // A percent sign that escapes nothing: the reference leads nowhere.
    return undefined;
  }
  const steps = path.split("/");
  return steps.reduce((found, step) => found?.[step.replaceAll("~1", "/").replaceAll("~0", "~")], root);
}

/** The schema of this document with an anchor. @param {string} name @param {any} root */
function anchored(name, root) {
  const open = [root];
  for (let count = 0; open.length > 0 && count < MAX_SEARCHED; count += 1) {
    const found = open.pop();
    if (found?.$anchor === name || found?.$dynamicAnchor === name) return found;
    if (found && typeof found === "object") open.push(...Object.values(found).filter((inner) => inner && typeof inner === "object"));
  }
  return undefined;
}

/** @param {any} value */
function text(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The limits of a value, for people. @param {any} schema @returns {string} */
export function limits(schema) {
  const words = [
    schema.minimum !== undefined && `at least ${schema.minimum}`,
    schema.exclusiveMinimum !== undefined && `more than ${schema.exclusiveMinimum}`,
    schema.maximum !== undefined && `at most ${schema.maximum}`,
    schema.exclusiveMaximum !== undefined && `less than ${schema.exclusiveMaximum}`,
    schema.multipleOf !== undefined && `a multiple of ${schema.multipleOf}`,
    schema.minLength > 0 && `at least ${schema.minLength} characters`,
    schema.maxLength !== undefined && `at most ${schema.maxLength} characters`,
    schema.minItems > 0 && `at least ${schema.minItems} items`,
    schema.maxItems !== undefined && `at most ${schema.maxItems} items`,
    schema.pattern && `matches ${schema.pattern}`,
    schema.format,
  ];
  return words.filter(Boolean).join(", ");
}
