/**
 * Resources and resource templates.
 *
 * @module
 */

import { registry } from "../registry.js";
import { checkOptions, RESOURCE, TEMPLATE } from "./options.js";

/** @import { Declared, Provider, ResourceOptions, ResourceTemplateOptions } from "../types.js" */

/**
 * Declares a resource.
 *
 * ```js
 * resource({ uri: "config://app", mimeType: "application/json", handler: () => JSON.stringify(config) });
 * ```
 *
 * @template {Record<string, Provider<any>>} [V={}]
 * @param {ResourceOptions<V>} options
 * @returns {Declared}
 */
export function resource(options) {
  checkOptions("resource", options, RESOURCE);
  return declare(registry.resources, options.uri, options);
}

/**
 * Declares a family of resources. The variables of the template are in `context.params`.
 *
 * ```js
 * resourceTemplate({ uriTemplate: "note://{id}", handler: (uri, { params }) => notes.get(params.id) });
 * ```
 *
 * @template {string} const T
 * @template {Record<string, Provider<any>>} [V={}]
 * @param {ResourceTemplateOptions<T, V>} options
 * @returns {Declared}
 */
export function resourceTemplate(options) {
  checkOptions("resourceTemplate", options, TEMPLATE);
  return declare(registry.templates, options.uriTemplate, /** @type {ResourceTemplateOptions<any>} */ (options));
}

/**
 * @template O
 * @param {Map<string, O>} known
 * @param {string} uri
 * @param {O} options
 */
function declare(known, uri, options) {
  if (typeof uri !== "string" || !uri) throw new TypeError("a resource has a URI");
  if (known.has(uri)) throw new TypeError(`there are two resources ${JSON.stringify(uri)}`);
  known.set(uri, options);
  registry.changed("resources");
  return {
    remove: () => {
      if (known.get(uri) === options && known.delete(uri)) registry.changed("resources");
    },
  };
}
