import { setTimeout as sleep } from "node:timers/promises";
import type { Figures } from "./figures.ts";
import type { Generator } from "./generator.ts";
import { median, type Job } from "./jobs.ts";
import type { Options } from "./options.ts";
import { TOKENS } from "./models.ts";
import { cpuMs, residentKb } from "./process.ts";
import type { Asking, Question, System, Target, TargetOptions } from "./system.ts";

/** Sizes of parts of a round: a number of queries, so that a busy machine measures the same code, with a time limit. */
const WARM_UP = { count: 1_500, ms: 12_000 };
const MEASURE = { count: 1_000, ms: 6_000 };
const QUICK_WARM_UP = { count: 1_000, ms: 12_000 };
const QUICK_MEASURE = { count: 800, ms: 4_000 };

const STREAMS = 200;
const SETTLE_MS = 1_000;
const FIRST_ANSWER_MS = 30_000;
const HISTORIES = [
  { messages: 10, conversations: 80, asked: 80 },
  { messages: 100, conversations: 16, asked: 80 },
  { messages: 1000, conversations: 3, asked: 60 },
] as const;

/** Starts one system in new processes, measures it and stops it. `quick` measures only JSON queries. */
export async function round(
  target: Target,
  options: TargetOptions,
  generator: Generator,
  { quick, at }: Pick<Options, "quick" | "at">,
): Promise<Figures> {
  await using system = await target.start(options);
  const figures: Figures = { startMs: await firstAnswer(system) };
  const { load, measured } = loading(system, generator);

  await sleep(SETTLE_MS);
  figures.idleMb = residentKb(system.pids()) / 1024;
  await load({ model: "short", form: "json" }, 16, quick ? QUICK_WARM_UP : WARM_UP);
  if (!quick && !target.queriesOnly) {
    Object.assign(figures, await fanOut(system, generator));
    await load({ model: "long", form: "stream" }, 16, { count: 300, ms: 3_000 });
    figures.streamCpuMs = (
      await measured({ model: "long", form: "stream" }, 16, { ...MEASURE, count: 500 })
    ).cpuPerQueryMs;
  }
  for (const concurrency of at) {
    const load = await measured({ model: "short", form: "json" }, concurrency, quick ? QUICK_MEASURE : MEASURE);
    const { cpuPerQueryMs, databaseCpuMs, done, seconds, p50Ms, p99Ms } = load;
    figures[`at${concurrency}CpuMs`] = cpuPerQueryMs;
    if (databaseCpuMs !== undefined) figures[`at${concurrency}DatabaseCpuMs`] = databaseCpuMs;
    figures[`at${concurrency}PerSecond`] = done / seconds;
    figures[`at${concurrency}P50Ms`] = p50Ms;
    figures[`at${concurrency}P99Ms`] = p99Ms;
  }
  if (quick || target.queriesOnly) return figures;
  for (const { messages, conversations, asked } of HISTORIES) {
    const question = { model: "short", form: "json", history: messages, conversations } as const;
    figures[`history${messages}CpuMs`] = (await measured(question, 1, { count: asked })).cpuPerQueryMs;
  }
  return figures;
}

type Sent = Pick<Asking, "requests" | "expect">;

/** Loads the system with a question or with requests, and measures it. */
export function loading(system: System, generator: Generator) {
  const sent = ({ requests, expect }: Sent, concurrency: number, until: Job["until"]) =>
    generator.run({ ports: system.ports, requests, concurrency, until, expect });

  async function measuredRequests(asking: Sent, concurrency: number, until: Job["until"]) {
    await sleep(100);
    const before = cpuOf(system);
    const load = await sent(asking, concurrency, until);
    const after = cpuOf(system);
    return {
      ...load,
      cpuPerQueryMs: (after.all - before.all) / load.done,
      ...(system.databaseCpuMs && { databaseCpuMs: (after.database - before.database) / load.done }),
    };
  }

  return {
    load: async (question: Question, concurrency: number, until: Job["until"]) =>
      sent(await system.ask(question), concurrency, until),
    measured: async (question: Question, concurrency: number, until: Job["until"]) =>
      measuredRequests(await system.ask(question), concurrency, until),
    measuredRequests,
  };
}

export function cpuOf(system: System): { all: number; database: number } {
  const database = system.databaseCpuMs?.() ?? 0;
  return { all: cpuMs(system.pids()) + database, database };
}

/** Time from the start of the processes to the first right answer of the last replica, by repeated queries. */
export async function firstAnswer(system: System): Promise<number> {
  const times = await Promise.all(system.ports.map((port) => firstAnswerOf(system, port)));
  return Math.max(...times);
}

async function firstAnswerOf(system: System, port: number): Promise<number> {
  const { requests, expect } = await system.ask({ model: "short", form: "json" });
  const { path, headers, body } = requests[0]!;
  const request = { method: "POST", headers: { "content-type": "application/json", ...headers }, body };
  let seen = "no connection";
  while (performance.now() - system.startedAt < FIRST_ANSWER_MS) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, request).then(
      (response) => response.text(),
      () => undefined,
    );
    if (answer !== undefined && expect.every(({ text }) => answer.includes(text)))
      return performance.now() - system.startedAt;
    seen = answer ?? seen;
    await sleep(15);
  }
  throw new Error(`no right answer within ${FIRST_ANSWER_MS} ms: ${seen}`);
}

/** 200 streams of 100 tokens, one every 20 ms, started together: memory per stream, CPU per token, time to the first event. */
async function fanOut(system: System, generator: Generator): Promise<Figures> {
  const { requests, expect, moments } = await system.ask({ model: "paced", form: "stream" });
  await sleep(SETTLE_MS);
  const pids = system.pids();
  const idleKb = residentKb(pids);
  const samples: number[] = [];
  const sampling = setInterval(() => samples.push(residentKb(pids)), 100);
  const before = cpuMs(pids);
  const job = { ports: system.ports, requests, expect, moments, concurrency: STREAMS, until: { count: STREAMS } };
  const { momentMs } = await generator.run(job);
  clearInterval(sampling);
  // All streams are open only in the middle of the time, when the samples are highest.
  const highest = [...samples].sort((a, b) => b - a).slice(0, Math.max(1, Math.floor(samples.length / 4)));
  return {
    tokenCpuUs: ((cpuMs(pids) - before) * 1000) / (STREAMS * TOKENS.paced),
    streamKb: (median(highest) - idleKb) / STREAMS,
    ...(momentMs.event !== undefined && { firstEventMs: momentMs.event }),
    ...(momentMs.token !== undefined && { firstTokenMs: momentMs.token }),
  };
}
