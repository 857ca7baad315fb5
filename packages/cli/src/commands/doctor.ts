import { existsSync } from "node:fs";
import type { Command } from "commander";
import { readEnvironment } from "../config.ts";
import type { Finding } from "../doctor/check.ts";
import {
  checkDatabase,
  checkDataDir,
  checkFile,
  checkNode,
  checkPort,
  checkProviders,
} from "../doctor/local-checks.ts";
import { checkKey, checkReachable, checkStream, checkUpgrade } from "../doctor/remote-checks.ts";
import { CommandFailure } from "../failure.ts";
import * as flags from "../options.ts";
import { paint, printJson, say } from "../output.ts";
import { DEFAULT_FILES } from "../service-file.ts";

interface DoctorOptions {
  port: number;
  host: string;
  database?: string;
  dataDir: string;
  url?: string;
  agent?: string;
  key?: string;
  json?: true;
}

export function addDoctorCommand(program: Command): void {
  const command = program
    .command("doctor")
    .description("say what is wrong with the set-up, and how to mend it")
    .argument("[file]", "module with the functions (default: service.ts, where there is one)")
    .addOption(flags.portOption())
    .addOption(flags.hostOption())
    .addOption(flags.databaseOption())
    .addOption(flags.dataDirOption())
    .addOption(flags.option("--url <url>", "look at a running service too").argParser(flags.parseUrl))
    .addOption(flags.agentOption("with --key: look at this agent of it"))
    .addOption(flags.option("--key <key>", "API key of the agent; one short query is asked with it"))
    .addOption(flags.jsonOption())
    .action(doctor);
  flags.examples(
    command,
    "patchbay doctor",
    "patchbay doctor --url https://queries.example.com --agent agt_... --key service_live_...",
  );
}

async function doctor(file: string | undefined, options: DoctorOptions): Promise<void> {
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
    await checkDatabase(options),
    await checkPort(options),
    ...checkProviders(readEnvironment()),
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
