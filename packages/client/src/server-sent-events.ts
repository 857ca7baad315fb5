/** One server-sent event. */
export interface ServerSentEvent {
  /** Value of the event's own `id:` line. */
  id: string | undefined;
  /** Its `data:` lines, joined by LF. */
  data: string;
  /** All its lines as they were sent, joined by LF. */
  raw: string;
}

/**
 * Reads server-sent events from a response body, however its bytes are split.
 *
 * An event that the end of the stream cuts off is dropped together with its id, so a reader that resumes after the last id
 * it received misses nothing. A consumer that stops early cancels the body. `onRetry` receives the pause that the server
 * asks for before a reconnection, in milliseconds.
 */
export async function* readServerSentEvents(
  body: ReadableStream<Uint8Array>,
  onRetry: (ms: number) => void = () => {},
): AsyncGenerator<ServerSentEvent, void, undefined> {
  let id: string | undefined;
  let data: string[] = [];
  let raw: string[] = [];
  for await (const line of readLines(body)) {
    if (line === "") {
      if (data.length > 0) yield { id, data: data.join("\n"), raw: raw.join("\n") };
      id = undefined;
      data = [];
      raw = [];
      continue;
    }
    raw.push(line);
    const [, name, value = ""] = /^([^:]*):? ?(.*)$/su.exec(line) ?? [];
    if (name === "data") data.push(value);
    else if (name === "id") id = value;
    else if (name === "retry" && /^\d+$/.test(value)) onRetry(Number(value));
  }
}

/** Lines ended by LF, CR or CRLF; an unfinished last line is dropped. */
async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  // Safari cannot iterate over a ReadableStream.
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let afterCr = false;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      let text = decoder.decode(value, { stream: true });
      if (text === "") continue;
      // The second half of a CRLF that the previous chunk began.
      if (afterCr && text.startsWith("\n")) text = text.slice(1);
      afterCr = text.endsWith("\r");
      const [first = "", ...lines] = text.split(/\r\n|\n|\r/);
      // `rest` is only appended to, never searched: a long line in small chunks would cost the square of its length.
      lines.unshift(rest + first);
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
