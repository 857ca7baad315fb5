import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { accessTimes } from "./access.ts";
import { compareRevisions, installerOf } from "./against.ts";
import { countInstalled, install, ROOT, type Installation } from "./build.ts";
import { medians, type Figures } from "./figures.ts";
import { counted } from "./counted.ts";
import { directCalls } from "./direct-calls.ts";
import { stripFloor } from "./floor.ts";
import { canDelayFsync, delayedFsync } from "./fsync.ts";
import { startGenerator, type Generator } from "./generator.ts";
import { readOptions, type Options } from "./options.ts";
import { requireLinux, start } from "./process.ts";
import { guard, guardCounts, readBaseline } from "./report/guard.ts";
import type { Measured } from "./report/musts.ts";
import { jsonReport, textReport } from "./report/report.ts";
import { pageReport, writePage } from "./report/page.ts";

import { isDeployed } from "./patchbay.ts";
import { retained } from "./retained.ts";
import { roundTrips } from "./round-trip.ts";
import { round } from "./round.ts";

import { LETTERS, type Letter, type Target } from "./system.ts";
import { createTargets } from "./targets.ts";
import { tracingLookups } from "./tracing.ts";

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const note = (text: string): void => void process.stderr.write(`${text}\n`);

const SERVICE = here("patchbay/service.ts");

/** No round starts that would probably end later. */
const BUDGET_MS = 30 * 60_000;
const QUICK_BUDGET_MS = 60_000;

/** Seconds of a round on two quiet cores. */
const ROUND_S: Record<Letter, number> = { A: 45, B: 40, C: 45, P: 30, N: 35, F: 20, L: 40 };
const QUICK_ROUND_S = 9;
const RETAINED_S = 90;
const FSYNC_S = 20;
const BUILD_S = 15;
const ACCESS_S = 15;
const TRACING_S = 5;
const COUNTED_S = 12;
const DIRECT_S = 20;

/** Seconds that a run with these options takes on two quiet cores. */
function plannedSeconds({ quick, fsync, retained, against, rounds }: Options, letters: readonly Letter[]): number {
  const engines = letters.filter((letter) => letter === "A" || letter === "P").length;
  if (fsync) return BUILD_S + FSYNC_S;
  if (against !== undefined) return 4 * BUILD_S + 2 * rounds * engines * QUICK_ROUND_S;
  if (retained) return BUILD_S + engines * RETAINED_S;
  if (quick) return BUILD_S + rounds * letters.length * QUICK_ROUND_S + TRACING_S + engines * COUNTED_S;
  const round = letters.reduce((seconds, letter) => seconds + ROUND_S[letter], 0);
  return (
    BUILD_S +
    ACCESS_S +
    TRACING_S +
    engines * COUNTED_S +
    DIRECT_S +
    rounds * round +
    engines * RETAINED_S +
    (letters.includes("A") ? FSYNC_S : 0)
  );
}

const duration = (seconds: number): string =>
  seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`;

/** Everything that the rounds need. */
interface Bench {
  options: Options;
  targets: readonly Target[];
  provider: string;
  generator: Generator;
  trips: ReturnType<typeof roundTrips>;
  folder: string;
  measureAccess: () => ReturnType<typeof accessTimes>;
}

async function measure(bench: Bench): Promise<Measured> {
  const { options } = bench;
  const { systems, rounds } =
    options.fsync || options.retained ? { systems: {}, rounds: 0 } : await measureRounds(bench);
  if (options.retained || !(options.quick || options.fsync)) await measureRetained(bench, systems);
  const fsync = options.quick || options.retained ? {} : await measureFsync(bench);
  const access = options.quick || options.fsync || options.retained ? {} : { access: await bench.measureAccess() };
  const direct = options.quick || options.fsync || options.retained ? {} : await measureDirectCalls(bench);
  const others =
    options.fsync || options.retained ? {} : { ...(await measureTracing(bench)), ...(await measureCounts(bench)) };
  return { systems, rounds, packages: countInstalled("control-plane"), ...fsync, ...access, ...direct, ...others };
}

/** The systems in turn, so that other load of the machine affects all of them alike. */
async function measureRounds({ options, targets, provider, generator, trips }: Bench) {
  const rounds = Object.fromEntries(LETTERS.map((letter) => [letter, []])) as unknown as Record<Letter, Figures[]>;
  const began = performance.now();
  let i = 1;
  for (; i <= options.rounds; i++) {
    const spentMs = performance.now() - began;
    if (i > 1 && spentMs + spentMs / (i - 1) > (options.quick ? QUICK_BUDGET_MS : BUDGET_MS)) {
      note(`the machine is slow: only ${i - 1} of ${options.rounds} rounds fit into the time limit`);
      break;
    }
    for (const target of targets) {
      note(`round ${i} of ${options.rounds}: ${target.letter}, ${target.name}`);
      const { quick, profile } = options;
      const started = { provider, ...(profile !== undefined && { profile }) };
      const figures = await round(target, started, generator, options);
      if (!quick && (target.letter === "A" || target.letter === "B"))
        Object.assign(figures, await trips[target.letter]());
      rounds[target.letter].push(figures);
    }
  }
  const systems: Measured["systems"] = {};
  for (const { letter } of targets) systems[letter] = medians(rounds[letter]);
  return { systems, rounds: i - 1 };
}

/** Adds the figures to those of the engines. */
async function measureRetained({ targets, provider, generator }: Bench, systems: Measured["systems"]): Promise<void> {
  for (const target of targets) {
    if (!isDeployed(target) || target.letter === "N") continue;
    const figures = await retained(target, provider, generator, note);
    systems[target.letter] = { ...systems[target.letter], ...figures };
  }
}

async function measureFsync({ targets, provider, generator }: Bench): Promise<Pick<Measured, "fsync">> {
  const ours = targets.find(({ letter }) => letter === "A");
  if (!ours) return {};
  if (!canDelayFsync()) {
    note("strace is not installed: skipping the measurement with a slow fsync");
    return {};
  }
  note("queries with an fsync that takes 10 ms");
  return { fsync: await delayedFsync(ours, provider, generator) };
}

async function measureDirectCalls({ targets, ...bench }: Bench): Promise<Pick<Measured, "direct">> {
  const ours = targets.find(({ letter }) => letter === "A");
  if (!ours || !isDeployed(ours)) return {};
  note("function calls over MCP and in the console");
  return { direct: await directCalls(ours, bench) };
}

async function measureTracing({ targets, ...bench }: Bench): Promise<Pick<Measured, "tracingLookups">> {
  const ours = targets.find(({ letter }) => letter === "A");
  return ours ? { tracingLookups: await tracingLookups(ours, bench) } : {};
}

async function measureCounts({ targets, ...bench }: Bench): Promise<Pick<Measured, "counts">> {
  const baseline = readBaseline();
  const counts: Measured["counts"] = {};
  for (const target of targets) {
    if (target.letter !== "A" && target.letter !== "P") continue;
    note(`${target.letter}: counts of one query`);
    counts[target.letter] = await counted(target, bench, baseline.counts[target.letter]);
  }
  return { counts };
}

async function main(options: Options): Promise<void> {
  requireLinux();
  await using cleanup = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), "patchbay-bench-"));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  process.once("exit", removeFolder);
  cleanup.defer(removeFolder);
  const letters = lettersOf(options);
  note(`about ${duration(plannedSeconds(options, letters))} on two quiet cores; building the packages`);
  const installation = await install(folder);
  const floorScript = stripFloor(folder);
  const targetsOf = (installation: Installation, folder: string) =>
    createTargets(letters, {
      installation,
      service: installation.addService(SERVICE),
      folder,
      floorScript,
      cleanup,
      note,
    });
  const targets = await targetsOf(installation, folder);
  const standIn = cleanup.use(await start(here("stand-in.ts"), [], { ipc: true }));
  const provider = standIn.ready["url"] ?? "";
  const generator = cleanup.use(await startGenerator());
  if (options.against !== undefined) {
    const { install } = await installerOf(options.against, folder, cleanup);
    const other = join(folder, "other");
    const theirs = await targetsOf(await install(other), other);
    const { rounds } = options;
    process.stdout.write(await compareRevisions([targets, theirs], { provider, generator, rounds, note }));
    return;
  }
  const parts = await installation.addParts(here("round-trip/parts.ts"));
  const trips = roundTrips(
    { command: installation.command, parts, service: installation.addService(SERVICE) },
    floorScript("functions.js"),
  );
  const many = installation.addService(here("access/service.ts"), "many.js");
  const measureAccess = () => accessTimes(installation.command, many);
  const measured = await measure({ options, targets, provider, generator, trips, folder, measureAccess });

  process.stdout.write(options.json ? jsonReport(measured) : textReport(measured));
  if (options.write) writePage(join(ROOT, "docs/performance.md"), pageReport(measured));
  const baseline = readBaseline();
  const losses = options.quick
    ? [...guard(baseline, measured.systems, letters), ...guardCounts(baseline, measured.counts)]
    : [];
  losses.forEach(note);
  if (losses.length > 0) process.exitCode = 1;
}

function lettersOf({ fsync, retained, against, only }: Options): readonly Letter[] {
  if (fsync) return ["A"];
  return retained || against !== undefined ? only.filter((letter) => letter === "A" || letter === "P") : only;
}

await main(readOptions(process.argv.slice(2)));
