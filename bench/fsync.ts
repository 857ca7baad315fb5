import { spawnSync } from "node:child_process";
import type { Generator } from "./generator.ts";
import { firstAnswer } from "./round.ts";
import type { Target } from "./system.ts";

const DELAY_US = 10_000;
const TRACER = ["strace", "-f", "--seccomp-bpf", "-qqq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync"];
const MEASURE_MS = 5_000;

export function canDelayFsync(): boolean {
  return spawnSync("strace", ["-V"]).status === 0;
}

/** Queries a second when each fsync of the server takes 10 ms longer, as on a real disk: one at a time, and 64. */
export async function delayedFsync(target: Target, provider: string, generator: Generator) {
  const under = [...TRACER, "-e", `inject=fsync,fdatasync:delay_enter=${DELAY_US}`];
  await using system = await target.start({ provider, under });
  await firstAnswer(system);
  const { requests, expect } = await system.ask({ model: "short", form: "json" });
  const perSecond = async (concurrency: number, ms: number): Promise<number> => {
    const { done, seconds } = await generator.run({
      ports: system.ports,
      requests,
      expect,
      concurrency,
      until: { ms },
    });
    return done / seconds;
  };
  await perSecond(64, MEASURE_MS / 2);
  return { single: await perSecond(1, MEASURE_MS), together: await perSecond(64, MEASURE_MS) };
}
