import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineFunction, defineService, everyone, type Reconciled, RetryableError } from "@patchbay/functions";
import { z } from "zod";

// Loaded by `patchbay connect` in processes that are killed: each start and end is written to the file before anything else.
const folder = process.env["FAULT_LAB_FOLDER"] ?? ".";
const tenant = process.env["FAULT_LAB_TENANT"] ?? "";
const file = join(folder, `functions-${tenant}-${process.pid}.jsonl`);

async function opened(gate: string, signal: AbortSignal): Promise<void> {
  const file = join(folder, `gate-${gate}`);
  while (!existsSync(file)) await sleep(50, undefined, { signal });
}

interface Call {
  name: string;
  id: string;
  callId: string;
  /** 0 for a question about an earlier attempt. */
  attempt: number;
}

function note(phase: "begin" | "end" | "reconcile", call: Call): void {
  appendFileSync(file, `${JSON.stringify({ phase, tenant, ...call, pid: process.pid, at: Date.now() })}\n`);
}

interface Options {
  idempotent?: true;
  effect?: "read";
  approval?: { by: string[] };
  retries?: { max: number };
  concurrency?: number;
  reconcile?: (call: { callId: string; input: { id: string } }) => Reconciled<{ did: string; id: string }>;
}

function counted(name: string, { fails = false, ...more }: Options & { fails?: boolean }) {
  return defineFunction({
    name,
    description: `Does ${name} for an id.`,
    input: z.object({ id: z.string(), ms: z.number().optional(), gate: z.string().optional() }),
    roles: everyone,
    ...more,
    async handler({ id, ms, gate }, { callId, attempt, signal }) {
      const call = { name, id, callId, attempt };
      note("begin", call);
      if (gate !== undefined) await opened(gate, signal);
      if (ms !== undefined) await sleep(ms, undefined, { signal });
      note("end", call);
      if (fails) throw new RetryableError({ afterMs: 500, message: `${name} is busy` });
      return { did: name, id };
    },
  });
}

/** A charge whose records tell what an interrupted attempt did. */
function recorded(name: string, tookEffect: boolean | undefined) {
  return counted(name, {
    reconcile({ callId, input: { id } }) {
      const call = { name, id, callId, attempt: 0 };
      note("reconcile", call);
      if (tookEffect === undefined) return "unknown";
      if (!tookEffect) return { done: false };
      note("end", call);
      return { done: true, result: { did: name, id } };
    },
  });
}

export default defineService({
  name: "counting",
  roles: ["manager"],
  functions: [
    counted("charge", {}),
    counted("fetch_record", { idempotent: true, effect: "read" }),
    counted("approved_charge", { approval: { by: ["manager"] } }),
    counted("flaky_read", { effect: "read", retries: { max: 3 }, fails: true }),
    counted("flaky_charge", { fails: true }),
    counted("limited_charge", { concurrency: 3 }),
    recorded("charged", true),
    recorded("uncharged", false),
    recorded("unclear_charge", undefined),
  ],
});
