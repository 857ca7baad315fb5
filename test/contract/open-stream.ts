import type { RunEvent } from "@patchbay/protocol";
import { parseSse, type SseEvent } from "@patchbay/test-support/sse";

type Data = RunEvent & Record<string, unknown>;

/** Reads a stream event by event, as a client that may disconnect. */
export function openStream(response: Response) {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const complete = () => parseSse<Data>(text.slice(0, text.lastIndexOf("\n\n") + 2));
  return {
    headers: response.headers,
    runId: response.headers.get("X-Run-Id") ?? "",
    /** Resolves with the first matching event; rejects if the stream ends before it. */
    async until(fits: (event: SseEvent<Data>) => boolean): Promise<SseEvent<Data>> {
      for (;;) {
        const found = complete().find(fits);
        if (found) return found;
        const step = await reader.read();
        if (step.done) throw new Error(`the stream ended after: ${text}`);
        text += step.value;
      }
    },
    async rest(): Promise<string> {
      for (let step = await reader.read(); !step.done; step = await reader.read()) text += step.value;
      return text;
    },
    leave: () => reader.cancel(),
  };
}

/** Matches events of this type. */
export const typed =
  (type: string) =>
  ({ data }: { data: { type: string } }): boolean =>
    data.type === type;
