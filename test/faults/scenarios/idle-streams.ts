import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { check } from "../checker.ts";
import { createClient } from "../client.ts";
import { largest } from "../figures.ts";
import type { Lab } from "../lab.ts";
import { residentKb } from "../process.ts";
import type { Plan } from "../plan.ts";
import { until } from "../held-calls.ts";
import { type Scenario, together } from "./scenario.ts";

const BATCH = 200;
const RUNS = 100;
const CALL_SECONDS = 50;

export const idleStreams: Scenario = {
  name: "idle-streams",
  promise: "Thousands of idle streams stay open on one replica, and each receives its run's end.",
  lab: {
    replicas: 1,
    tenants: 1,
    runtimes: 1,
    concurrency: 200,
    serveArgs: ["--run-timeout", "600"],
    limits: { streamsPerKey: 100_000, streamsPerRun: 100_000, streamsPerOrganisation: 100_000 },
  },
  async run(lab, { seconds, rate: count }) {
    const tenant = lab.tenants[0]!;
    const ask = createClient({ tenant, lab, patienceMs: 600_000 });
    const asked = Array.from({ length: RUNS }, (_, run) =>
      ask({ plan: longPlan(`${tenant.name}.idle.${run}`, seconds), mode: "stream" }),
    );
    const begun = () => lab.functionNotes().length >= RUNS;
    await until(begun, "each run is at its first call", 30_000 * lab.patience);
    const runIds = [...new Set(lab.history.noted.flatMap((one) => (one.kind === "run" ? [one.runId] : [])))];
    const { pid } = lab.replicas[0]!;
    const before = residentKb(pid);
    const began = performance.now();
    const streams: Stream[] = [];
    while (streams.length < count) {
      const batch = Array.from({ length: Math.min(BATCH, count - streams.length) }, (_, index) =>
        openStream(lab, `/agents/${tenant.agentId}/runs/${runIds[index % runIds.length]}/events`, tenant.apiKey),
      );
      streams.push(...(await Promise.all(batch)));
    }
    const openedMs = performance.now() - began;
    await sleep(10_000);
    const each = (residentKb(pid) - before) / count;
    const peak = await watch(pid, seconds);
    const lost = streams.filter(({ closed }) => closed).length;
    const endings = await Promise.all(asked);
    await until(() => streams.every(({ ended }) => ended), "each stream receives the end", 60_000).catch(() => {});
    const unended = streams.filter(({ ended }) => !ended).length;
    for (const { socket } of streams) socket.destroy();
    const found = await check(lab, { endings, succeeded: RUNS });
    const figures = { streams: count, openedMs: largest([openedMs]), heldSeconds: seconds, lost, unended };
    const memory = { eachKb: Math.round(each), rssMb: Math.round(peak / 1_024) };
    return together(
      found,
      { ...figures, ...memory },
      {
        "no stream was lost": lost === 0,
        "each stream received the end": unended === 0,
      },
    );
  },
};

/** Successive calls, each within a function's time limit, for longer than the streams stay open. */
function longPlan(id: string, seconds: number): Plan {
  const turns = Array.from({ length: Math.ceil((seconds + 60) / CALL_SECONDS) }, (_, step) => [
    { name: "charge" as const, id: `${id}.${step}`, ms: CALL_SECONDS * 1_000 },
  ]);
  return { id, turns };
}

interface Stream {
  readonly socket: Socket;
  closed: boolean;
  /** True once the run's last event has arrived. */
  ended: boolean;
}

/** Resolves once the first event has arrived. Keeps no data: ten thousand clients share this process. */
function openStream(lab: Lab, path: string, apiKey: string): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const socket = connect(lab.ports[0]!, "127.0.0.1");
    const stream: Stream = { socket, closed: false, ended: false };
    socket.write(`GET ${path} HTTP/1.1\r\nhost: lab\r\nx-api-key: ${apiKey}\r\n\r\n`);
    socket.on("data", (bytes) => {
      const text = bytes.toString("latin1");
      if (text.includes("finalResponse")) stream.ended = true;
      if (text.includes("id: 1")) resolve(stream);
      else if (/^HTTP\/1.1 [^2]/.test(text)) reject(new Error(text.slice(0, 300)));
    });
    socket.on("error", reject);
    socket.on("close", () => (stream.closed = true));
  });
}

async function watch(pid: number | undefined, seconds: number): Promise<number> {
  const endsAt = performance.now() + seconds * 1_000;
  let peak = 0;
  while (performance.now() < endsAt) {
    peak = Math.max(peak, residentKb(pid));
    await sleep(1_000);
  }
  return peak;
}
