import { existsSync } from "node:fs";
import type { Difference, OpenStore } from "@patchbay/control-plane/admin";
import type { Command } from "commander";
import { readEnvironment } from "../config.ts";
import type { Finding } from "../doctor/local-checks.ts";
import { withAdmin } from "./administer.ts";
import { CommandFailure } from "@patchbay/loading/failure";
import * as flags from "../options.ts";
import { keepStdoutForResults, oneLine, paint, print, printJson } from "../output.ts";
import { DEFAULT_FILES } from "../service-file.ts";

const doctorOptions = () => [
  flags.portOption(),
  flags.hostOption(),
  flags.databaseOption(),
  flags.dataDirOption(),
  flags.natsOption(),
  flags.providersOption(),
  flags.option("--models", "also ask each endpoint for two short turns, and report what works"),
  flags.option("--runs", "check the stored runs of the database instead, which is only read"),
  flags.option("--since <time>", "with --runs: only runs created since a time, or in the last 90m, 24h, 7d"),
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
    "patchbay doctor --runs --since 24h   # after an incident",
    "patchbay doctor --url https://queries.example.com --agent agt_... --key service_live_...",
  );
}

async function doctor(file: string | undefined, options: DoctorOptions): Promise<void> {
  keepStdoutForResults();
  if (options.runs) return await checkRuns(options);
  const findings = [...(await checkLocal(file, options)), ...(await checkRemote(options))];
  const failed = findings.filter(({ status }) => status === "fail").length;
  if (options.json) printJson({ ok: failed === 0, checks: findings });
  else print(findings.map(line).join("\n"));
  if (failed > 0) throw new CommandFailure(failed === 1 ? "One check failed." : `${failed} checks failed.`);
}

async function checkRuns(options: DoctorOptions): Promise<void> {
  const { parseSince, violations } = await import("@patchbay/control-plane/admin");
  const check = async (_admin: unknown, store: OpenStore) =>
    violations(store, options.since === undefined ? {} : { since: parseSince(options.since, await store.now()) });
  const { runs, calls, ...found } = await withAdmin(options, check, { readOnly: true });
  const { length } = found.violations;
  const shown = `${length.toLocaleString("en")} ${length === 1 ? "violation" : "violations"}`;
  if (options.json) printJson({ ok: length === 0, runs, calls, ...found });
  else {
    for (const one of found.violations) print(differenceLine(one));
    for (const one of found.notes) print(`note  ${differenceLine(one)}`);
    print(`checked ${runs.toLocaleString("en")} runs, ${calls.toLocaleString("en")} calls: ${shown}`);
  }
  if (length > 0) throw new CommandFailure(`${shown}.`);
}

const differenceLine = ({ orgId, agentId = "-", runId, invariant, expected, found }: Difference): string =>
  oneLine(`${runId ?? orgId}  ${agentId}  ${invariant}: expected ${expected}, found ${found}`);

async function checkLocal(file: string | undefined, options: DoctorOptions): Promise<Finding[]> {
  const checks = await import("../doctor/local-checks.ts");
  // None in a database that does not exist yet, or cannot be opened, which its own check reports.
  const agents = await withAdmin(options, (admin) => admin.listAgents(), { readOnly: true }).catch(() => []);
  const models = await checks.configuredModels(options, readEnvironment());
  const hasFunctions = file !== undefined || DEFAULT_FILES.some((name) => existsSync(name));
  return [
    checks.checkNode(),
    checks.checkDataDir(options.dataDir),
    ...checks.checkFileModes(options),
    await checks.checkDatabase(options),
    ...(options.nats === undefined ? [] : [await checks.checkNats(options.nats)]),
    await checks.checkPort(options),
    ...(await checks.checkModels(options.providers, readEnvironment())),
    ...(await checks.checkUses(models, agents)),
    ...(await withAdmin(options, (admin) => checks.checkReviews(admin, agents), { readOnly: true }).catch(() => [])),
    ...(options.models ? await checks.checkAnswers(models, agents) : []),
    ...(await checks.checkPrices(readEnvironment())),
    ...(hasFunctions ? [await checks.checkFile(file, models, agents)] : []),
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
