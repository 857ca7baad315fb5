/** Reads a stream of events until its connection ends, and keeps the text. */
export interface Reader {
  readonly runId: string;
  /** Everything received so far. */
  readonly text: string;
  /** Number of the last complete event; 0 before the first. */
  readonly lastId: number;
  /** Resolves once `text` matches; rejects if the connection ends before. */
  seen(pattern: RegExp): Promise<void>;
  /** Resolves when the connection ends: true if the server ended it, false if it was cut. */
  readonly over: Promise<boolean>;
}

export function readAlong(response: Response): Reader {
  if (response.status !== 200 || !response.body) throw new Error(`status ${response.status}`);
  const waiting = new Set<() => void>();
  let text = "";
  let ended = false;

  async function pump(body: ReadableStream<Uint8Array>): Promise<boolean> {
    const decoder = new TextDecoder();
    try {
      for await (const bytes of body) {
        text += decoder.decode(bytes, { stream: true });
        for (const look of waiting) look();
      }
      return true;
    } catch {
      return false;
    } finally {
      ended = true;
      for (const look of waiting) look();
    }
  }
  const over = pump(response.body);

  return {
    runId: response.headers.get("x-run-id") ?? "",
    over,
    get text() {
      return text;
    },
    get lastId() {
      const whole = text.slice(0, text.lastIndexOf("\n\n") + 1);
      return Number([...whole.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? 0);
    },
    seen(pattern) {
      return new Promise((resolve, reject) => {
        const look = (): void => {
          const found = pattern.test(text);
          if (!found && !ended) return;
          waiting.delete(look);
          if (found) resolve();
          else reject(new Error(`the stream ended before ${pattern} came: ${text}`));
        };
        waiting.add(look);
        look();
      });
    },
  };
}
