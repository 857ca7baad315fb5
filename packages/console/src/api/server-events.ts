/** One server-sent event; `id` is that of the newest `id:` line so far, as the format has it. `raw` is the block as it was sent. */
export interface ServerEvent {
  id: string | undefined;
  data: string;
  raw: string;
}

/** Reads server-sent events from bytes that may be cut anywhere. An event that the end cuts off is not given out. */
export async function* readServerEvents(bytes: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  let id: string | undefined;
  let data: string[] = [];
  let raw: string[] = [];
  for await (const line of readLines(bytes)) {
    if (line === "") {
      if (data.length > 0) yield { id, data: data.join("\n"), raw: raw.join("\n") };
      data = [];
      raw = [];
      continue;
    }
    raw.push(line);
    const [, name, value = ""] = /^([^:]*):? ?(.*)$/su.exec(line) ?? [];
    if (name === "data") data.push(value);
    else if (name === "id") id = value;
  }
}

/** The service ends lines by LF alone. */
async function* readLines(bytes: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = bytes.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const [first = "", ...lines] = decoder.decode(value, { stream: true }).split("\n");
      lines.unshift(rest + first);
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } finally {
    // Ends the connection where the consumer stopped early.
    await reader.cancel().catch(() => undefined);
  }
}
