export interface StoredEvent {
  seq: number;
  data: string;
}

/** The stored events of a stream as they arrive; `heard` is told of every sign of life, comments included. */
export async function* readEvents(response: Response, heard: () => void): AsyncGenerator<StoredEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of response.body ?? []) {
    heard();
    rest += decoder.decode(bytes, { stream: true });
    const frames = rest.split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const lines = frame.split("\n");
      const seq = Number(lines.find((line) => line.startsWith("id: "))?.slice(4));
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
      if (data !== undefined && seq > 0) yield { seq, data };
    }
  }
}
