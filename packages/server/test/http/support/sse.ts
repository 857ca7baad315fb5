/** One event of a stream, as an EventSource reads it. */
export interface SseEvent {
  id?: string;
  data: string;
}

/** Splits a whole stream into events; comments and `retry:` lines are left out. */
export function parseSse(text: string): SseEvent[] {
  return text
    .split("\n\n")
    .map((block) => {
      const lines = block.split("\n");
      const id = lines.find((line) => line.startsWith("id: "))?.slice(4);
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
      return data === undefined ? undefined : { data, ...(id !== undefined && { id }) };
    })
    .filter((event) => event !== undefined);
}

/** Reads a stream bit by bit. */
export function readStream(response: Response) {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  return {
    /** Resolves with the text so far once `condition` holds of it; rejects when the stream ends before. */
    async until(condition: (text: string) => boolean): Promise<string> {
      while (!condition(text)) {
        const step = await reader.read();
        if (step.done) throw new Error(`stream ended after: ${text}`);
        text += step.value;
      }
      return text;
    },
    async rest(): Promise<string> {
      for (let step = await reader.read(); !step.done; step = await reader.read()) text += step.value;
      return text;
    },
    leave: () => reader.cancel(),
  };
}
