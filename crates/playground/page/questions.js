// The questions of tools, answered by the user: to a model (sampling), and to the user (elicitation).

import { button, h } from "./dom.js";
import { form } from "./form.js";
import { messagesView } from "./result.js";

/**
 * @param {any} container
 * @param {(uri: string) => void} open
 */
export function questions(container, open) {
  /** Shows a question until it is answered or withdrawn. @param {string} title @param {AbortSignal} signal @param {(answer: (value: any) => void, refuse: (error: any) => void) => any[]} build */
  const ask = (title, signal, build) => new Promise((resolve, reject) => {
    const heading = h("h2", { tabIndex: -1 }, title);
    const card = h("section", { class: "question", "aria-label": title }, heading);
    const end = () => {
      card.remove();
      container.hidden = container.children.length === 0;
    };
    card.append(...build((value) => (end(), resolve(value)), (error) => (end(), reject(error))).filter(Boolean));
    signal.addEventListener("abort", () => (end(), reject(new Error("withdrawn"))), { once: true });
    container.append(card);
    container.hidden = false;
    heading.focus();
  });

  /** @param {any} params @param {AbortSignal} signal */
  const sample = (params, signal) => ask("A tool asks the model", signal, (answer, refuse) => {
    const text = h("textarea", { rows: 4, "aria-label": "Answer of the model" });
    const model = h("input", { type: "text", value: "human", "aria-label": "Name of the model" });
    const stop = h("select", { "aria-label": "Reason to stop" }, ["endTurn", "maxTokens", "stopSequence"].map((name) => h("option", null, name)));
    const send = () => answer({ role: "assistant", content: { type: "text", text: text.value }, model: model.value, stopReason: stop.value });
    const facts = [
      params.maxTokens !== undefined && `at most ${params.maxTokens} tokens`,
      params.temperature !== undefined && `temperature ${params.temperature}`,
      params.modelPreferences?.hints?.length && `prefers ${params.modelPreferences.hints.map((/** @type {any} */ hint) => hint.name).join(", ")}`,
      params.stopSequences?.length && `stops at ${params.stopSequences.join(", ")}`,
    ].filter(Boolean).join(" · ");
    return [
      params.systemPrompt && h("p", { class: "system" }, h("strong", null, "System: "), params.systemPrompt),
      messagesView(params.messages ?? [], open),
      facts && h("p", { class: "hint" }, facts),
      h("label", { class: "name" }, "You answer as the model", text),
      h("div", { class: "row fields" }, h("label", null, "Model ", model), h("label", null, "Stops with ", stop)),
      h("div", { class: "actions" }, button("Answer", send, { class: "primary" }),
        button("Refuse", () => refuse({ code: -1, message: "the user has refused the request" }))),
    ];
  });

  /** @param {any} params @param {AbortSignal} signal */
  const elicit = (params, signal) => ask("A tool asks you", signal, (answer) => {
    const refusals = [button("Decline", () => answer({ action: "decline" })), button("Cancel", () => answer({ action: "cancel" }))];
    const message = h("p", { class: "text" }, params.message);
    if (params.mode === "url") {
      const isSafe = /^https?:/i.test(params.url);
      const host = isSafe ? new URL(params.url).host : "";
      const go = () => {
        window.open(params.url, "_blank", "noopener,noreferrer");
        answer({ action: "accept" });
      };
      return [message, h("p", null, "It wants to open ", h("strong", null, host), ":"), h("code", { class: "url" }, params.url),
        h("div", { class: "actions" }, isSafe ? button("Open the page", go, { class: "primary" }) : h("span", { class: "problem" }, "Only pages of http and https can be opened."), refusals)];
    }
    const fields = form(params.requestedSchema ?? { type: "object", properties: {} }, {
      submit: "Answer",
      onsubmit: (content) => answer({ action: "accept", content }),
      actions: refusals,
    });
    return [message, fields.element];
  });

  return {
    /** Shows that a server behind the bridge asks for a sign-in. @param {string} url */
    signIn(url) {
      if (!/^https?:/i.test(url)) return;
      const close = () => (card.remove(), (container.hidden = container.children.length === 0));
      const go = () => (window.open(url, "_blank", "noopener,noreferrer"), close());
      const card = h("section", { class: "question", "aria-label": "Sign in" }, h("h2", null, "The server asks you to sign in"),
        h("p", null, "A browser was opened at ", h("strong", null, new URL(url).host), " by pmcp. Sign in there, or here:"),
        h("div", { class: "actions" }, button("Open the page", go, { class: "primary" }), button("Close", close)));
      container.append(card);
      container.hidden = false;
    },
    /** Answers a request of the server. @param {string} method @param {any} params @param {AbortSignal} signal @returns {Promise<any>} */
    answer(method, params, signal) {
      if (method === "sampling/createMessage") return sample(params ?? {}, signal);
      if (method === "elicitation/create") return elicit(params ?? {}, signal);
      return Promise.reject({ code: -32601, message: `unknown method ${method}` });
    },
  };
}
