import { createParser } from "eventsource-parser";

/** One server-sent event. */
export interface ServerSentEvent {
  /** Value from the event's own `id:` line. */
  id: string | undefined;
  /** Its `data:` lines, joined by LF. */
  data: string;
  /** Its `id:` and `data:` lines, joined by LF. */
  raw: string;
}

/**
 * Reads server-sent events from a response body, however its bytes are split.
 *
 * An event cut off at the stream's end is dropped together with its id, so a reader that resumes after its last id
 * misses nothing. A consumer that stops early cancels the body. `onRetry` receives the pause that the server asks for
 * before a reconnection, in milliseconds.
 */
export async function* readServerSentEvents(
  body: ReadableStream<Uint8Array>,
  onRetry: (ms: number) => void = () => {},
): AsyncGenerator<ServerSentEvent, void, undefined> {
  // Safari cannot iterate over a ReadableStream.
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let found: ServerSentEvent[] = [];
  const parser = createParser({
    onEvent: ({ id, data }) => void found.push({ id, data, raw: linesOf(id, data) }),
    onRetry,
  });
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      found = [];
      parser.feed(decoder.decode(value, { stream: true }));
      yield* found;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function linesOf(id: string | undefined, data: string): string {
  const lines = data.split("\n").map((line) => `data: ${line}`);
  return [...(id === undefined ? [] : [`id: ${id}`]), ...lines].join("\n");
}
