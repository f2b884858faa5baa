// MCP Apps (2026-01-26): the page of a tool in a sandbox, with this page as its host.

import { button, h } from "./dom.js";

const MIME_TYPE = "text/html;profile=mcp-app";
const REVISION = "2026-01-26";
/** The permissions that an app can declare, with their names in a permissions policy. @type {Record<string, string>} */
const PERMISSIONS = { camera: "camera", microphone: "microphone", geolocation: "geolocation", clipboardWrite: "clipboard-write" };

/** The URI of the page of a tool, if it has one. @param {any} tool @returns {string | undefined} */
export function pageOf(tool) {
  return tool._meta?.ui?.resourceUri ?? tool._meta?.["ui/resourceUri"];
}

/** True if only pages may call a tool. @param {any} tool */
export function isForAppsOnly(tool) {
  const visibility = tool._meta?.ui?.visibility;
  return Array.isArray(visibility) && !visibility.includes("model");
}

/** @param {any} tool */
function mayBeCalledByApps(tool) {
  const visibility = tool?._meta?.ui?.visibility;
  return tool && (!Array.isArray(visibility) || visibility.includes("app"));
}

/**
 * Shows the page of a tool.
 *
 * @param {any} tool
 * @param {{request: (method: string, params: any) => Promise<any>, tools: () => any[], server: () => any}} host
 * @returns {{element: any, input: (value: any) => void, result: (result: any) => void, cancelled: (reason: string) => void, close: () => void}}
 */
export function showApp(tool, host) {
  const frame = h("iframe", { class: "app", title: `App of ${tool.name}` });
  frame.setAttribute("sandbox", "allow-scripts allow-forms");
  const notes = h("div", { class: "notes", role: "status" });
  const element = h("div", { class: "app-view" }, frame, notes);
  /** @type {any[] | null} */ let waiting = [];
  /** The document of the app, once it is read. @type {any} */ let app = null;
  const post = (/** @type {any} */ message) => frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, "*");
  const tell = (/** @type {string} */ method, /** @type {any} */ params) => {
    if (waiting) waiting.push({ method, params });
    else post({ method, params });
  };
  const note = (/** @type {any[]} */ ...children) => notes.append(h("p", null, ...children));

  /** @type {Record<string, (params: any) => any>} */
  const requests = {
    "ui/initialize": () => ({
      protocolVersion: REVISION,
      hostInfo: { name: "pmcp-playground", version: "1" },
      hostCapabilities: {
        openLinks: {}, serverTools: {}, serverResources: {}, logging: {},
        sandbox: { permissions: app?.permissions ?? {}, csp: app?.csp ?? {} },
      },
      hostContext: {
        toolInfo: { tool },
        theme: document.documentElement.dataset.theme,
        displayMode: "inline",
        availableDisplayModes: ["inline"],
        platform: "web",
      },
    }),
    ping: () => ({}),
    "tools/call": (params) => {
      if (!mayBeCalledByApps(host.tools().find(({ name }) => name === params?.name))) {
        throw { code: -32602, message: `the app may not call "${params?.name}"` };
      }
      return host.request("tools/call", { name: params.name, arguments: params.arguments });
    },
    "resources/read": ({ uri }) => host.request("resources/read", { uri }),
    "resources/list": () => host.request("resources/list", {}),
    "ui/open-link": ({ url }) => {
      if (!/^https?:/i.test(url)) throw { code: -32602, message: "only links of http and https can be opened" };
      note("The app links to ", h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, url));
      return {};
    },
    "ui/message": ({ content }) => {
      const blocks = [content].flat();
      note("Message for the model: ", blocks.map((/** @type {any} */ block) => block?.text ?? JSON.stringify(block)).join(" "));
      return {};
    },
    "ui/update-model-context": (params) => {
      note("Context for the model: ", JSON.stringify(params).slice(0, 2000));
      return {};
    },
    "ui/request-display-mode": () => ({ mode: "inline" }),
  };
  /** @type {Record<string, (params: any) => void>} */
  const notifications = {
    "ui/notifications/sandbox-proxy-ready": () => {
      if (app) post({ method: "ui/notifications/sandbox-resource-ready", params: { html: app.html, allow: app.allow } });
    },
    "ui/notifications/initialized": () => {
      for (const message of waiting ?? []) post(message);
      waiting = null;
    },
    "ui/notifications/size-changed": ({ height }) => {
      if (Number.isFinite(height)) frame.style.height = `${Math.max(60, Math.min(height, 1200))}px`;
    },
    "notifications/message": ({ data }) => note("Log: ", typeof data === "string" ? data : JSON.stringify(data)),
  };

  async function load() {
    const { contents } = await host.request("resources/read", { uri: pageOf(tool) });
    const page = contents.find((/** @type {any} */ content) => content.mimeType === MIME_TYPE) ?? contents[0];
    if (page?.mimeType !== MIME_TYPE) throw new Error(`${pageOf(tool)} is of type ${page?.mimeType}`);
    const html = page.text ?? new TextDecoder().decode(Uint8Array.from(atob(page.blob), (c) => c.charCodeAt(0)));
    const { csp, permissions } = page._meta?.ui ?? {};
    const granted = Object.keys(PERMISSIONS).filter((name) => permissions?.[name] && typeof permissions[name] === "object");
    const allow = granted.map((name) => `${PERMISSIONS[name]} *`).join("; ");
    app = { html: withPolicy(html, csp), csp, allow, permissions: Object.fromEntries(granted.map((name) => [name, {}])) };
    if (granted.length) note(`The app may ask for: ${granted.join(", ")}.`);
    // Permissions count for what is loaded after them.
    frame.allow = allow;
    frame.src = "/app-frame.html";
  }

  /** @param {MessageEvent} event */
  async function receive({ source, data }) {
    if (source !== frame.contentWindow || data?.jsonrpc !== "2.0") return;
    if (data.method && data.id === undefined) return notifications[data.method]?.(data.params ?? {});
    if (!data.method) return;
    try {
      const answer = requests[data.method];
      if (!answer) throw { code: -32601, message: `unknown method ${data.method}` };
      post({ id: data.id, result: await answer(data.params ?? {}) });
    } catch (error) {
      const { code = -32603, message } = /** @type {any} */ (error);
      post({ id: data.id, error: { code, message } });
    }
  }

  addEventListener("message", receive);
  load().catch((error) => note(`The app cannot be shown: ${error.message}`));
  const close = () => {
    removeEventListener("message", receive);
    element.remove();
  };
  element.append(h("div", { class: "actions" }, button("Close the app", close, { class: "quiet" })));
  return {
    element,
    input: (value) => tell("ui/notifications/tool-input", { arguments: value }),
    result: (result) => tell("ui/notifications/tool-result", result),
    cancelled: (reason) => tell("ui/notifications/tool-cancelled", { reason }),
    close,
  };
}

/**
 * The document with the policy that its server declares, before everything else in it. An app without one loads nothing.
 *
 * @param {string} html
 * @param {any} csp
 */
function withPolicy(html, csp) {
  const sources = (/** @type {any} */ list) =>
    [list ?? []].flat().filter((source) => typeof source === "string" && /^[\w*:/.-]+$/.test(source)).join(" ");
  const [connect, load, frames, base] = [csp?.connectDomains, csp?.resourceDomains, csp?.frameDomains, csp?.baseUriDomains].map(sources);
  const policy = [
    "default-src 'none'",
    `script-src 'unsafe-inline' ${load}`,
    `style-src 'unsafe-inline' ${load}`,
    `img-src data: blob: ${load}`,
    `font-src data: ${load}`,
    `media-src data: blob: ${load}`,
    `connect-src ${connect || "'none'"}`,
    `frame-src ${frames || "'none'"}`,
    `base-uri ${base || "'none'"}`,
    "form-action 'none'",
  ].join("; ");
  const page = new DOMParser().parseFromString(html, "text/html");
  const meta = page.createElement("meta");
  meta.httpEquiv = "Content-Security-Policy";
  meta.content = policy;
  page.head.prepend(meta);
  return `<!doctype html>\n${page.documentElement.outerHTML}`;
}
