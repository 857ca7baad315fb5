import { existsSync } from "node:fs";
import type { Command } from "commander";
import { readEnvironment } from "../config.ts";
import type { Finding } from "../doctor/local-checks.ts";
import { CommandFailure } from "@patchbay/loading/failure";
import * as flags from "../options.ts";
import { keepStdoutForResults, paint, print, printJson } from "../output.ts";
import { DEFAULT_FILES } from "../service-file.ts";

const doctorOptions = () => [
  flags.portOption(),
  flags.hostOption(),
  flags.databaseOption(),
  flags.dataDirOption(),
  flags.natsOption(),
  flags.option("--url <url>", "also check a running service", { parse: flags.parseUrl }),
  flags.agentOption("with --key: check this agent"),
  flags.keyOption("PATCHBAY_API_KEY", "the agent's API key; sends one short query"),
  flags.jsonOption(),
];
type DoctorOptions = flags.OptionsOf<typeof doctorOptions>;

export function addDoctorCommand(program: Command): void {
  const command = program
    .command("doctor")
    .description("check the installation and suggest fixes")
    .argument("[file]", "module with the functions (default: service.ts, if it exists)")
    .action(doctor);
  flags.examples(
    flags.addOptions(command, doctorOptions()),
    "patchbay doctor",
    "patchbay doctor --url https://queries.example.com --agent agt_... --key service_live_...",
  );
}

async function doctor(file: string | undefined, options: DoctorOptions): Promise<void> {
  keepStdoutForResults();
  const findings = [...(await checkLocal(file, options)), ...(await checkRemote(options))];
  const failed = findings.filter(({ status }) => status === "fail").length;
  if (options.json) printJson({ ok: failed === 0, checks: findings });
  else print(findings.map(line).join("\n"));
  if (failed > 0) throw new CommandFailure(failed === 1 ? "One check failed." : `${failed} checks failed.`);
}

async function checkLocal(file: string | undefined, options: DoctorOptions): Promise<Finding[]> {
  const checks = await import("../doctor/local-checks.ts");
  const hasFunctions = file !== undefined || DEFAULT_FILES.some((name) => existsSync(name));
  return [
    checks.checkNode(),
    checks.checkDataDir(options.dataDir),
    ...checks.checkFileModes(options),
    await checks.checkDatabase(options),
    ...(options.nats === undefined ? [] : [await checks.checkNats(options.nats)]),
    await checks.checkPort(options),
    ...checks.checkProviders(readEnvironment()),
    ...(await checks.checkPrices(readEnvironment())),
    ...(hasFunctions ? [await checks.checkFile(file)] : []),
  ];
}

/** Each check assumes the one before: the rest is skipped when the service does not answer. */
async function checkRemote({ url, agent, key: givenKey }: DoctorOptions): Promise<Finding[]> {
  if (url === undefined) return [];
  const key = flags.keyOr(givenKey, "PATCHBAY_API_KEY");
  const checks = await import("../doctor/remote-checks.ts");
  const findings = await checks.checkReachable(url);
  if (findings.some(({ status }) => status === "fail")) return findings;
  findings.push(await checks.checkUpgrade(url));
  const runtimeKey = readEnvironment()["PATCHBAY_RUNTIME_KEY"];
  if (runtimeKey) findings.push(await checks.checkRuntimeKey(url, runtimeKey, agent));
  if (agent === undefined || key === undefined) return findings;
  const keyFinding = await checks.checkKey({ url, agent, key });
  findings.push(keyFinding);
  if (keyFinding.status === "ok") findings.push(...(await checks.checkStream({ url, agent, key })));
  return findings;
}

const COLOURS = { ok: "green", warn: "yellow", fail: "red" } as const;

function line({ name, status, message, fix }: Finding): string {
  const first = `${paint(COLOURS[status], status.padEnd(4))}  ${name.padEnd(11)}  ${message}`;
  return fix === undefined ? first : `${first}\n${" ".repeat(19)}${paint("dim", "→")} ${fix}`;
}
