// Server-sent events of a response.

/**
 * Cuts events out of text that arrives in pieces. Nothing is scanned twice, so that large events cost no more.
 */
export class EventParser {
  /** @type {string[]} */ #line = [];
  /** @type {string[]} */ #data = [];
  #id = "";
  #afterReturn = false;

  /**
   * The events that are complete with this piece.
   *
   * @param {string} piece
   * @returns {{data: string, id: string}[]}
   */
  push(piece) {
    const events = [];
    let start = 0;
    for (;;) {
      const end = lineEnd(piece, start);
      if (end < 0) break;
      const isRest = this.#afterReturn && end === start && piece[end] === "\n";
      this.#afterReturn = piece[end] === "\r";
      if (!isRest) {
        this.#line.push(piece.slice(start, end));
        const event = this.#take(this.#line.join(""));
        this.#line = [];
        if (event) events.push(event);
      }
      start = end + 1;
    }
    if (start < piece.length) {
      this.#line.push(piece.slice(start));
      this.#afterReturn = false;
    }
    return events;
  }

  /** @param {string} line */
  #take(line) {
    if (line === "") {
      if (this.#data.length === 0) return null;
      const event = { data: this.#data.join("\n"), id: this.#id };
      this.#data = [];
      return event;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "data") this.#data.push(value);
    else if (field === "id") this.#id = value;
    return null;
  }
}

/** @param {string} text @param {number} from */
function lineEnd(text, from) {
  const feed = text.indexOf("\n", from);
  if (!text.includes("\r")) return feed;
  const back = text.indexOf("\r", from);
  return back < 0 ? feed : feed < 0 ? back : Math.min(feed, back);
}

/**
 * Reads the events of a response, in order.
 *
 * @param {Response} response
 * @param {(event: {data: string, id: string}) => void} take
 */
export async function readEvents(response, take) {
  const parser = new EventParser();
  const decoder = new TextDecoder();
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const event of parser.push(decoder.decode(value, { stream: true }))) take(event);
  }
}
