import { ModelError } from "../ports/model-provider.ts";

/** One server-sent event. Events without data lines are not given out. */
export interface SseEvent {
  event?: string;
  data: string;
}

/** Longest line taken, in UTF-16 units: an answer's closing event can repeat the whole answer. */
const MAX_LINE_UNITS = 16 * 1024 * 1024;

/**
 * Cuts bytes into events, wherever the bytes were split. Lines end in LF, CRLF or CR, as the standard allows; comments, `id:`,
 * `retry:` and unknown fields are passed over. An event that the bytes end in the middle of is never given out.
 */
export function createSseParser({ maxLineUnits = MAX_LINE_UNITS }: { maxLineUnits?: number } = {}) {
  const decoder = new TextDecoder();
  let rest = "";
  let event: string | undefined;
  let data: string | undefined;
  /** The bytes so far end in CR: an LF that comes next belongs to it. */
  let afterCr = false;

  function takeLine(line: string, found: SseEvent[]): void {
    if (line === "") {
      if (data !== undefined) found.push(event === undefined ? { data } : { event, data });
      event = undefined;
      data = undefined;
      return;
    }
    if (line.startsWith("data:")) {
      const value = line.slice(line.charCodeAt(5) === 32 ? 6 : 5);
      data = data === undefined ? value : `${data}\n${value}`;
      if (data.length > maxLineUnits) throw tooLong();
    } else if (line === "data") data = data === undefined ? "" : `${data}\n`;
    else if (line.startsWith("event:")) event = line.slice(line.charCodeAt(6) === 32 ? 7 : 6);
  }

  function tooLong(): ModelError {
    return new ModelError("server", `the stream has an event above ${maxLineUnits} characters`);
  }

  /** The text with every line end as LF. Only Gemini sends CR, so other wires pay for one search. */
  function withLineFeeds(text: string): string {
    const begun = afterCr && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") afterCr = text.endsWith("\r");
    return begun.includes("\r") ? begun.replaceAll(/\r\n?/g, "\n") : begun;
  }

  return {
    push(bytes: Uint8Array): SseEvent[] {
      const found: SseEvent[] = [];
      const text = withLineFeeds(decoder.decode(bytes, { stream: true }));
      let start = 0;
      for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
        const line = rest + text.slice(start, end);
        rest = "";
        takeLine(line, found);
        start = end + 1;
      }
      // Only appended to, never searched: a long line in small pieces would otherwise cost the square of its length.
      rest += text.slice(start);
      if (rest.length > maxLineUnits) throw tooLong();
      return found;
    },
  };
}

/**
 * Reads a body as events, in one batch for each read so that tokens cost no promise of their own. A read that completes no event
 * gives an empty batch, which says that bytes arrive.
 */
export async function* readSse(
  body: AsyncIterable<Uint8Array>,
  options: { maxLineUnits?: number } = {},
): AsyncGenerator<SseEvent[], void, undefined> {
  const parser = createSseParser(options);
  for await (const bytes of body) yield parser.push(bytes);
}
