/** The time of `patchbay access --what-if` over 10,000 stored calls, from each source. Fails if one exceeds 10 s. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startControlPlane } from "@patchbay/control-plane/admin";
import { connect, silentLog } from "@patchbay/functions";
import type { ServiceScope } from "@patchbay/protocol/console";
import { AGENT, seedCalls, type SeededCall } from "../packages/cli/test/support/stored-calls.ts";
import service from "../examples/quickstart/service.ts";
import { median } from "./jobs.ts";

const CALLS = 10_000;
const ROUNDS = 3;
const MOST_SECONDS = 10;

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Every third call is one that `authorize` of the quickstart refuses. */
const calls = Array.from({ length: CALLS }, (_, i): SeededCall => {
  const foreign = i % 3 === 0;
  return {
    functionName: "get_ticket",
    role: "staff",
    context: { userId: "ada" },
    arguments: { ticketId: foreign ? "T-101" : "T-100" },
    outcome: foreign
      ? { ok: false, code: "denied", message: "This call is not permitted.", rule: "authorize" }
      : { ok: true, value: { id: "T-100", title: "Printer is broken ".repeat(20) }, redacted: ["internalNote"] },
  };
});

const folder = mkdtempSync(join(tmpdir(), "patchbay-what-if-"));
const database = `sqlite:${join(folder, "patchbay.db")}`;
try {
  await seedCalls(database, service.manifest, calls);
  await measure("the database", ["--data-dir", folder]);
  const plane = await startControlPlane({ database, port: 0, log: silentLog });
  const ask = async (what: string, scopes: ServiceScope[]) => {
    const { secret } = await plane.admin.serviceTokens.create({ orgId: "org_1", scopes });
    await measure(what, ["--url", plane.url, "--service-token", secret]);
  };
  await ask("--url", ["calls:read", "calls:content"]);
  const { runtimeKey: key } = await plane.admin.createRuntimeKey({ agentId: AGENT });
  const candidate = connect(service, { url: plane.url, key, log: silentLog, shadow: true });
  await candidate.ready;
  await ask("--url with a candidate", ["calls:read"]);
  await candidate.stop({ drainMs: 0 });
  await plane.close({ graceMs: 0 });
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function measure(what: string, source: string[]): Promise<void> {
  const command = [here("../packages/cli/src/main.ts"), "access", here("../examples/quickstart/service.ts")];
  const options = ["--what-if", "--agent", AGENT, "--last", String(CALLS), ...source];
  const seconds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    const { stdout } = await promisify(execFile)(process.execPath, [...command, ...options]);
    seconds.push((performance.now() - began) / 1_000);
    if (stdout !== `${CALLS} calls: ${CALLS} unchanged; 0 changed.\n`) throw new Error(`a difference: ${stdout}`);
  }
  const typical = median(seconds);
  process.stdout.write(`what-if over ${CALLS} stored calls from ${what}: ${typical.toFixed(2)} s (${ROUNDS} rounds)\n`);
  if (typical > MOST_SECONDS) process.exitCode = 1;
}
