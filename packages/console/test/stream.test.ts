import { expect, test } from "vitest";
import { ApiError } from "../src/api/api-error.ts";
import type { Client } from "../src/api/client.ts";
import { followRun, startQuery } from "../src/api/stream.ts";

interface Opened {
  method: string;
  path: string;
  lastEventId: string | undefined;
}

const stored = (id: number, event: object) => `id: ${id}\ndata: ${JSON.stringify(event)}\n\n`;
const live = (event: object) => `data: ${JSON.stringify(event)}\n\n`;
const END = { type: "finalResponse", response: "Two." };

/** A stream that ends after these blocks, as a broken connection does. */
const streamOf = (...blocks: string[]) => new Response(blocks.join(""), { headers: { "x-run-id": "run_1" } });

function clientOf(answers: (Response | Error | undefined)[]) {
  const opened: Opened[] = [];
  const open: Client["open"] = async (method, path, { headers }) => {
    opened.push({ method, path, lastEventId: headers?.["last-event-id"] });
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { client: { open } as Client, opened };
}

const options = (client: Client, signal = new AbortController().signal) => ({
  agentId: "agt_1",
  signal,
  client,
  pause: async () => {},
});

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const seen = [];
  for await (const event of events) seen.push(event);
  return seen;
}

test("a query is followed to its end, and its run is known at once", async () => {
  const { client } = clientOf([streamOf(stored(0, { type: "thought", content: "hm" }), stored(1, END))]);
  let run: string | undefined;

  const events = await all(startQuery({ query: "How many?" }, { ...options(client), onRun: (id) => (run = id) }));

  expect(run).toBe("run_1");
  expect(events.map(({ event, seq }) => [event.type, seq])).toEqual([
    ["thought", 0],
    ["finalResponse", 1],
  ]);
});

test("events that are not kept have no number", async () => {
  const first = streamOf(
    stored(0, { type: "thought", content: "a" }),
    live({ type: "responseDelta", content: "b" }),
    stored(1, END),
  );
  const { client } = clientOf([first]);

  const events = await all(followRun("run_1", options(client)));

  expect(events.map(({ seq }) => seq)).toEqual([0, undefined, 1]);
});

test("a broken stream is taken up after the last event that came", async () => {
  const { client, opened } = clientOf([
    streamOf(stored(0, { type: "thought", content: "a" })),
    new ApiError("unreachable", "The service cannot be reached."),
    streamOf(stored(1, END)),
  ]);

  const events = await all(startQuery({ query: "How many?" }, options(client)));

  expect(events).toHaveLength(2);
  expect(opened).toEqual([
    { method: "POST", path: "/agents/:agent_id/playground", lastEventId: undefined },
    { method: "GET", path: "/agents/:agent_id/runs/:run_id/events", lastEventId: "0" },
    { method: "GET", path: "/agents/:agent_id/runs/:run_id/events", lastEventId: "0" },
  ]);
});

test("a run with nothing left to send ends without an event", async () => {
  const { client } = clientOf([undefined]);

  expect(await all(followRun("run_1", { ...options(client), after: 9 }))).toEqual([]);
});

test("a refusal ends the following", async () => {
  const { client } = clientOf([streamOf(), new ApiError("not_found", "There is no such run.", { status: 404 })]);

  await expect(all(followRun("run_1", options(client)))).rejects.toMatchObject({ code: "not_found" });
});

test("a stream that cannot be resumed fails and says that the run continues", async () => {
  const { client } = clientOf(Array.from({ length: 50 }, () => streamOf()));

  await expect(all(followRun("run_1", options(client)))).rejects.toMatchObject({
    name: "ApiError",
    message: expect.stringContaining("The run continues"),
  });
});
