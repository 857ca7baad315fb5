/** The time of `patchbay access --what-if` over 10,000 stored calls. Fails if it exceeds 10 s. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
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
try {
  await seedCalls(`sqlite:${join(folder, "patchbay.db")}`, service.manifest, calls);
  const command = [here("../packages/cli/src/main.ts"), "access", here("../examples/quickstart/service.ts")];
  const options = ["--what-if", "--agent", AGENT, "--last", String(CALLS), "--data-dir", folder];
  const seconds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    const { stdout } = await promisify(execFile)(process.execPath, [...command, ...options]);
    seconds.push((performance.now() - began) / 1_000);
    if (stdout !== `${CALLS} calls: ${CALLS} unchanged; 0 changed.\n`) throw new Error(`a difference: ${stdout}`);
  }
  const typical = median(seconds);
  process.stdout.write(`what-if over ${CALLS} stored calls: ${typical.toFixed(2)} s (${ROUNDS} rounds)\n`);
  if (typical > MOST_SECONDS) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
