// The events of the server other than MCP: the tool's wire, and the log.

import { readEvents } from "./sse.js";

const PAUSE = 1000;

/**
 * Follows the events until the token is refused.
 *
 * @param {string} token
 * @param {(event: {type: string, seq: number, time: number, data: any}) => void} take
 */
export async function followEvents(token, take) {
  let from = 0;
  for (;;) {
    try {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`/api/events?from=${from}`, { headers });
      if (response.status === 401) return;
      if (response.ok) {
        await readEvents(response, ({ data }) => {
          const event = JSON.parse(data);
          if (event.seq !== undefined) from = event.seq + 1;
          take(event);
        });
      }
    } catch {
      // The stream is broken. It goes on after the last event: a server that is started again has another token.
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}
