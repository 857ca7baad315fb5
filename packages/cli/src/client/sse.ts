/** One server-sent event. `id` is that of the newest `id:` line so far, as the format has it. */
export interface ServerEvent {
  id: string | undefined;
  data: string;
}

/**
 * Reads server-sent events from bytes that may be cut anywhere. An event that the end cuts off is not given out, nor is its
 * id: a reader that resumes from the last id it was given misses nothing.
 */
export async function* readEvents(
  bytes: AsyncIterable<Uint8Array>,
  onRetry: (ms: number) => void = () => {},
): AsyncGenerator<ServerEvent> {
  let id: string | undefined;
  let data: string[] = [];
  for await (const line of readLines(bytes)) {
    if (line === "") {
      if (data.length > 0) yield { id, data: data.join("\n") };
      data = [];
      continue;
    }
    const [, name, value = ""] = /^([^:]*):? ?(.*)$/su.exec(line) ?? [];
    if (name === "data") data.push(value);
    else if (name === "id") id = value;
    else if (name === "retry" && /^\d+$/.test(value)) onRetry(Number(value));
  }
}

/** Lines ended by LF, CR or CRLF; an unfinished last line is dropped. */
async function* readLines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  let afterCr = false;
  for await (const chunk of bytes) {
    let text = decoder.decode(chunk, { stream: true });
    if (text === "") continue;
    // The second half of a CRLF whose first half ended the chunk before.
    if (afterCr && text.startsWith("\n")) text = text.slice(1);
    afterCr = text.endsWith("\r");
    const [first = "", ...lines] = text.split(/\r\n|\n|\r/);
    // Only appended to, never searched: a long line in small pieces would otherwise cost the square of its length.
    lines.unshift(rest + first);
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
