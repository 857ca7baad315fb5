import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { z } from "zod";

// Loaded by `patchbay connect` in processes that are killed: each start and end is written to the file before anything else.
const folder = process.env["FAULT_LAB_FOLDER"] ?? ".";
const tenant = process.env["FAULT_LAB_TENANT"] ?? "";
const file = join(folder, `functions-${tenant}-${process.pid}.jsonl`);

async function opened(gate: string, signal: AbortSignal): Promise<void> {
  const file = join(folder, `gate-${gate}`);
  while (!existsSync(file)) await sleep(50, undefined, { signal });
}

function counted(name: string, more: { idempotent?: true; effect?: "read"; approval?: { by: string[] } }) {
  return defineFunction({
    name,
    description: `Does ${name} for an id.`,
    input: z.object({ id: z.string(), ms: z.number().optional(), gate: z.string().optional() }),
    roles: everyone,
    ...more,
    async handler({ id, ms, gate }, { callId, attempt, signal }) {
      const note = (phase: string) => {
        const run = { phase, tenant, name, id, callId, attempt, pid: process.pid, at: Date.now() };
        appendFileSync(file, `${JSON.stringify(run)}\n`);
      };
      note("begin");
      if (gate !== undefined) await opened(gate, signal);
      if (ms !== undefined) await sleep(ms, undefined, { signal });
      note("end");
      return { did: name, id };
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
  ],
});
