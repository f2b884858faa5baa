// A page of another origin that tries to use the playground.
import { createServer } from "node:http";

/** Returns what each attempt of the page gets. */
export async function attack(browser, url) {
  const { origin, hash } = new URL(url);
  const token = hash.split("token=")[1];
  const attacker = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end("<!doctype html><title>Attack</title><body></body>");
  });
  await new Promise((resolve) => attacker.listen(0, "127.0.0.1", resolve));
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${attacker.address().port}/`);
  const found = await page.evaluate(async ({ origin, token }) => {
    const outcome = async (attempt) => {
      try {
        return await attempt();
      } catch (error) {
        return error.name;
      }
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } } });
    const read = async (path, options) => (await fetch(origin + path, options)).text();
    // Even with the token: the browser asks the server first, and the server does not agree.
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", accept: "application/json, text/event-stream" };
    const framed = () => new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.onload = () => {
        try {
          resolve(frame.contentDocument === null ? "blocked" : frame.contentDocument.title || "empty");
        } catch (error) {
          resolve(error.name);
        }
      };
      frame.src = origin + "/#token=" + token;
      document.body.append(frame);
    });
    const socket = () => new Promise((resolve) => {
      const socket = new WebSocket(origin.replace("http", "ws") + "/mcp");
      socket.onopen = () => resolve("open");
      socket.onerror = () => resolve("refused");
    });
    return {
      page: await outcome(() => read("/")),
      mcp: await outcome(() => read("/mcp", { method: "POST", headers, body })),
      plain: await outcome(() => read("/mcp", { method: "POST", headers: { "content-type": "text/plain" }, body })),
      blind: await outcome(async () => (await fetch(`${origin}/api/reload`, { method: "POST", mode: "no-cors" })).type),
      trace: await outcome(() => read("/api/trace", { headers })),
      events: await outcome(() => read("/api/events", { headers })),
      framed: await outcome(framed),
      socket: await outcome(socket),
    };
  }, { origin, token });
  await page.close();
  attacker.close();
  return found;
}
