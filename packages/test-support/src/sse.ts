import type { RunEvent } from "@patchbay/protocol";

export interface SseEvent<T> {
  id?: number;
  data: T;
}

/** The events in a finished stream's text, as a client reads them. */
export function parseSse<T = RunEvent & Record<string, unknown>>(text: string): SseEvent<T>[] {
  const events: SseEvent<T>[] = [];
  let id: number | undefined;
  for (const line of text.split("\n")) {
    if (line.startsWith("id: ")) id = Number(line.slice(4));
    else if (line.startsWith("data: "))
      events.push({ ...(id !== undefined && { id }), data: JSON.parse(line.slice(6)) as T });
    else if (line === "") id = undefined;
  }
  return events;
}
