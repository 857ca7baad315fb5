import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { expect, test } from "vitest";
import { requestAndCut, type CutAnswer } from "../support/cut-request.ts";
import { printFigure } from "@patchbay/test-support/figures";
import { startStandIn, type Script } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";

const AT_ONCE = 32;

/** Thoughts, two parallel calls (one fails), another thought and a third call, all with non-ASCII characters. */
const script: Script = ({ step }) => {
  const call = (id: string) => ({ name: "look_up", arguments: { id } });
  if (step === 0) return { thoughts: ["Zuerst prüfen: “größer” – 東京 🧭"], calls: [call("größe"), call("fehlt")] };
  if (step === 1) return { text: "Und jetzt das Zweite…\n\ndata: kein Ereignis", calls: [call("🧾")] };
  return { text: "**Fertig** – 3 Ergebnisse ✓\n\n| a | b |\n|---|---|\n| ü | \u2028 |" };
};

function lookUp(resultUnits: number) {
  const one = defineFunction({
    name: "look_up",
    description: "Looks something up.",
    input: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
    roles: everyone,
    handler({ id }) {
      if (id === "fehlt") throw new Error("no such thing");
      return { id, text: "größer als 🦒 ".repeat(Math.ceil(resultUnits / 14)) };
    },
  });
  return defineService({ name: "look-up", functions: [one] });
}

async function startCutting(resultUnits: number) {
  const standIn = await startStandIn("anthropic", script);
  const system = await startSystem({ service: lookUp(resultUnits), providers: standIn.config });
  const { agentId, apiKey } = system;
  const { port } = system.plane;
  const path = (rest: string) => `/agents/${agentId}/${rest}`;

  return {
    ...system,
    /** Requests endpoint 2 and cuts the response at `cutAt` bytes. The same key joins the same run. */
    ask(key: string, cutAt?: number): Promise<CutAnswer> {
      const headers = { "x-api-key": apiKey, "content-type": "application/json", "idempotency-key": key };
      const request = { method: "POST", path: path("query-stream"), headers, body: JSON.stringify({ query: "hi" }) };
      return requestAndCut(port, request, cutAt);
    },
    async resume(runId: string, after: number): Promise<Buffer> {
      const headers = { "x-api-key": apiKey, "last-event-id": String(after) };
      const { body } = await requestAndCut(port, { method: "GET", path: path(`runs/${runId}/events`), headers });
      return body;
    },
    async [Symbol.asyncDispose]() {
      await system[Symbol.asyncDispose]();
      await standIn.close();
    },
  };
}

type Cutting = Awaited<ReturnType<typeof startCutting>>;

/** The stream of a client that is cut once and resumes: its complete events, then the rest. */
async function cutAndResume(system: Cutting, key: string, cutAt: number): Promise<Buffer> {
  const cut = await system.ask(key, cutAt);
  if (cut.runId === undefined) return (await system.ask(key)).body;
  const end = cut.body.lastIndexOf("\n\n");
  const kept = end === -1 ? Buffer.of() : cut.body.subarray(0, end + 2);
  const lastId = Number([...kept.toString().matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? 0);
  return Buffer.concat([kept, await system.resume(cut.runId, lastId)]);
}

/** Does `work` for each number, several in parallel. */
async function forEach(numbers: Iterable<number>, work: (number: number) => Promise<void>): Promise<void> {
  const next = numbers[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let step = next.next(); !step.done; step = next.next()) await work(step.value);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function* steps(from: number, to: number, by: number): Generator<number> {
  for (let at = from; at < to; at += by) yield at;
}

test("a stream cut after any byte and resumed equals the uncut one", async () => {
  await using system = await startCutting(400);
  const uncut = await system.ask("one");
  expect(uncut).toMatchObject({ complete: true });
  const size = uncut.body.length + 1_200;

  const different: number[] = [];
  let cuts = 0;
  await forEach(steps(1, size, 1), async (cutAt) => {
    const got = await cutAndResume(system, "one", cutAt);
    if (!got.equals(uncut.body)) different.push(cutAt);
    cuts++;
  });

  printFigure("streams cut at every byte", {
    cuts,
    "bytes of the stream": uncut.body.length,
    different: different.length,
  });
  expect(different).toEqual([]);
  expect(cuts).toBeGreaterThan(5_000);
});

test("a stream with a large result is complete, wherever it is cut", async () => {
  await using system = await startCutting(60_000);
  const uncut = await system.ask("one");
  expect(uncut.body.length).toBeGreaterThan(300_000);

  await forEach(steps(1, uncut.body.length + 2_000, 1_499), async (cutAt) => {
    expect((await cutAndResume(system, "one", cutAt)).equals(uncut.body)).toBe(true);
  });
});

test("a stream cut and resumed during its run equals its later replay", async () => {
  await using system = await startCutting(400);
  const { body } = await system.ask("measure");

  await forEach(steps(1, body.length, 67), async (cutAt) => {
    const got = await cutAndResume(system, `live-${cutAt}`, cutAt);
    expect(got.equals((await system.ask(`live-${cutAt}`)).body)).toBe(true);
  });
});
