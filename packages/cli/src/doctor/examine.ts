import { existsSync } from "node:fs";
import { readEnvironment } from "../config.ts";
import { CommandFailure } from "../failure.ts";
import { keepStdoutForResults, paint, printJson, say } from "../output.ts";
import { DEFAULT_FILES } from "../service-file.ts";
import type { Finding } from "./check.ts";
import {
  checkDatabase,
  checkDataDir,
  checkFile,
  checkFileModes,
  checkNats,
  checkNode,
  checkPort,
  checkPrices,
  checkProviders,
} from "./local-checks.ts";
import { checkKey, checkReachable, checkStream, checkUpgrade } from "./remote-checks.ts";

export interface DoctorOptions {
  port: number;
  host: string;
  database?: string;
  dataDir: string;
  nats?: string;
  url?: string;
  agent?: string;
  key?: string;
  json?: true;
}

/** Looks at the set-up, and says what it found. */
export async function examine(file: string | undefined, options: DoctorOptions): Promise<void> {
  keepStdoutForResults();
  const findings = [...(await lookHere(file, options)), ...(await lookThere(options))];
  const failed = findings.filter(({ status }) => status === "fail").length;
  if (options.json) printJson({ ok: failed === 0, checks: findings });
  else say(findings.map(line).join("\n"));
  if (failed > 0) throw new CommandFailure(failed === 1 ? "One check failed." : `${failed} checks failed.`);
}

async function lookHere(file: string | undefined, options: DoctorOptions): Promise<Finding[]> {
  const hasFunctions = file !== undefined || DEFAULT_FILES.some((name) => existsSync(name));
  return [
    checkNode(),
    checkDataDir(options.dataDir),
    ...checkFileModes(options),
    await checkDatabase(options),
    ...(options.nats === undefined ? [] : [await checkNats(options.nats)]),
    await checkPort(options),
    ...checkProviders(readEnvironment()),
    ...(await checkPrices(readEnvironment())),
    ...(hasFunctions ? [await checkFile(file)] : []),
  ];
}

/** Each look presumes the one before: a service that does not answer is asked no more. */
async function lookThere({ url, agent, key }: DoctorOptions): Promise<Finding[]> {
  if (url === undefined) return [];
  const findings = await checkReachable(url);
  if (findings.some(({ status }) => status === "fail")) return findings;
  findings.push(await checkUpgrade(url));
  if (agent === undefined || key === undefined) return findings;
  const match = await checkKey({ url, agent, key });
  findings.push(match);
  if (match.status === "ok") findings.push(...(await checkStream({ url, agent, key })));
  return findings;
}

const COLOURS = { ok: "green", warn: "yellow", fail: "red" } as const;

function line({ name, status, message, fix }: Finding): string {
  const first = `${paint(COLOURS[status], status.padEnd(4))}  ${name.padEnd(11)}  ${message}`;
  return fix === undefined ? first : `${first}\n${" ".repeat(19)}${paint("dim", "→")} ${fix}`;
}
