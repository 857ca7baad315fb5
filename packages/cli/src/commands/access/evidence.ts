import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { Admin, EvidencePart } from "@patchbay/control-plane/admin";
import type { AccessLock, AccessMatrix, FlowPair, JudgedCall } from "@patchbay/functions/access";
import type { Service } from "@patchbay/functions";
import { createFolder, type EvidenceFolder } from "@patchbay/access-lab/evidence/folder";
import { readmeOf } from "@patchbay/access-lab/evidence/readme";
import { RECHECK } from "@patchbay/access-lab/evidence/recheck";
import { versionsOf } from "@patchbay/access-lab/evidence/versions";
import { CommandFailure } from "@patchbay/loading/failure";
import { print, printJson } from "../../output.ts";
import { type Adequacy, measureAdequacy, percentKilled } from "@patchbay/access-lab/search/adequacy";
import { factsOf } from "@patchbay/access-lab/search/facts";
import { judgeOf } from "@patchbay/access-lab/search/judge";
import { mutantsOf } from "@patchbay/access-lab/search/mutants";
import { explore } from "@patchbay/access-lab/search/explore";
import { DEFAULTS } from "@patchbay/access-lab/search/search";
import { launchJudge } from "../../search-child.ts";
import type { AccessOptions } from "./options.ts";
import { isRemote, withCalls, withEvidence } from "./records.ts";
import type { Loaded } from "./gaps.ts";
import { NO_ROLE } from "./what-if.ts";

/** Stored calls that the data-flow rules are replayed on, and the runs named for a pair. */
const CALLS = 10_000;
const EXAMPLES = 3;

/** A loaded service and its current access. */
export interface Examined extends Loaded {
  matrix: AccessMatrix;
  lock: AccessLock;
}

/** Findings from one part of the evidence. Empty: nothing. */
type Findings = string[];

/** `access --evidence`: writes a service's access with checksums, and every finding. */
export async function writeEvidence(examined: Examined, options: AccessOptions): Promise<void> {
  const { evidence: path = "", agent, json } = options;
  if (options.sample !== undefined && agent === undefined)
    throw new CommandFailure("--sample needs the agent whose runs it shows: --agent ID.");
  const folder = await createFolder(path);
  const findings = [
    ...(agent === undefined ? [] : await writeRecords(folder, examined, { ...options, agent })),
    ...(await writeAccess(folder, examined)),
    ...(await writeAttacks(folder, examined)),
  ];
  await writePairs(folder, examined, options);
  await writeSearch(folder, examined);
  const versions = await versionsOf(examined.path);
  await folder.write("versions.json", versions);
  await folder.write(
    "README.md",
    readmeOf({
      service: examined.matrix.service,
      versions,
      findings,
      agent,
      since: options.since,
      isSampled: options.sample !== undefined,
    }),
  );
  const files = await folder.seal();
  if (json) printJson({ folder: path, files, findings });
  else
    print([...findings.map((finding) => `finding  ${finding}`), `Wrote ${files.length} files to ${path}.`].join("\n"));
  if (findings.length > 0)
    throw new CommandFailure(findings.length === 1 ? "1 finding." : `${findings.length} findings.`);
}

/** The matrix, the lock, its difference from the committed one, and the never-list. */
async function writeAccess(folder: EvidenceFolder, { path, matrix, lock }: Examined): Promise<Findings> {
  const { compareAccess, findForbidden, findUnrefused, parseLock, parseNever, renderMatrix, writeLock } =
    await import("@patchbay/functions/access");
  const committed = await besides(path, "access.lock.json");
  const never = await besides(path, "access.never.json");
  const changes = committed === undefined ? [] : compareAccess(parseLock(committed), lock);
  const forbidden = never === undefined ? [] : findForbidden(parseNever(never), lock);
  await folder.write("matrix.json", matrix);
  await folder.write("matrix.md", `${renderMatrix(matrix, { format: "markdown" })}\n`);
  await folder.write("access.lock.json", writeLock(lock));
  if (never !== undefined) await folder.write("access.never.json", never);
  const hasLock = committed !== undefined;
  await folder.write("check.json", { hasLock, changes, forbidden, unrefused: findUnrefused(lock) });
  return [
    ...(hasLock ? [] : ["The service has no access.lock.json, so its access was not compared with a reviewed one."]),
    ...changes.map(({ kind, sentence }) => `${kind}: ${sentence}`),
    ...forbidden.map((sentence) => `forbidden: ${sentence}`),
  ];
}

/** Each pair of a data-flow source and sink, with the stored runs in which the rules stopped a call. */
async function writePairs(
  folder: EvidenceFolder,
  { service, matrix }: Examined,
  options: AccessOptions,
): Promise<void> {
  if (!matrix.flows) return;
  const pairs = matrix.flows.pairs.map((pair) => ({ ...pair, runIds: [] as string[] }));
  const { agent } = options;
  const note = async (calls: AsyncIterable<JudgedCall>) => {
    for await (const { runId, role = NO_ROLE, functionName, flows: [found] = [] } of calls) {
      if (!found || found.mode === "report") continue;
      const label = found.fault.rule === "secret" ? "secret" : "untrusted";
      const isMet = (pair: FlowPair): boolean =>
        pair.role === role && pair.sink === functionName && pair.label === label && found.after.includes(pair.source);
      for (const pair of pairs.filter(isMet)) {
        if (pair.proof === "open") pair.proof = "tested";
        if (pair.runIds.length < EXAMPLES && !pair.runIds.includes(runId)) pair.runIds.push(runId);
      }
    }
  };
  const asked = { ...options, last: CALLS };
  if (agent !== undefined && !isRemote(options))
    await withCalls(service, asked, agent, note, { flows: [service.manifest] });
  await folder.write("flows.json", pairs);
}

async function besides(path: string, name: string): Promise<string | undefined> {
  const file = join(dirname(path), name);
  return existsSync(file) ? readFile(file, "utf8") : undefined;
}

async function writeAttacks(folder: EvidenceFolder, { service }: Examined): Promise<Findings> {
  const { renderEscalationReport, runEscalationSuite } = await import("@patchbay/functions/testing");
  const report = await runEscalationSuite(service);
  await folder.write("attacks.json", report);
  await folder.write("attacks.txt", `${renderEscalationReport(report)}\n`);
  return report.findings.map(({ attack, detail }) => `attack "${attack}": ${detail}`);
}

/** Searches calls that no case shows, and measures how many changed conditions the cases notice, with one seed for both. */
async function writeSearch(folder: EvidenceFolder, { path, service, files }: Examined): Promise<void> {
  const seed = randomInt(2 ** 32);
  const facts = await factsOf(service, files);
  const functions = await explore({ facts, judge: judgeOf(service) }, { ...DEFAULTS, seed });
  await folder.write("search.json", { seed, functions });
  const { mutants, mutated } = mutantsOf(service, files);
  const launch = () => launchJudge(path, { name: `${path} with mutants`, mutated });
  const adequacy: Adequacy = await measureAdequacy(mutants, launch, { ...DEFAULTS, checks: 3_000, seed });
  const survivors = adequacy.survivors.map(({ mutant, ...rest }) => ({
    ...rest,
    mutant: { ...mutant, path: relative(dirname(path), mutant.path) },
  }));
  const { killed, equivalent, unreached, undecided } = adequacy;
  const counts = { killed, equivalent, unreached: unreached.length, undecided: undecided.length };
  await folder.write("adequacy.json", { seed, percent: percentKilled(adequacy), ...counts, survivors });
}

/** The rights that were used, connected sets, the sealed audit log for the period, and a sample of its runs. */
async function writeRecords(
  folder: EvidenceFolder,
  { service }: Examined,
  options: AccessOptions & { agent: string },
): Promise<Findings> {
  const { agent, since, sample } = options;
  const seed = options.seed ?? randomInt(2 ** 32);
  const names = ["audit-seals.ndjson", "audit.ndjson", ...(sample === undefined ? [] : ["sample.ndjson"])];
  const findings: Findings = [];
  const asked = { agent, since, ...(sample !== undefined && { sample, seed }) };
  await withEvidence(service, options, asked, async (parts) => {
    await folder.writeLines(linesOf(parts), names);
  });
  await folder.write("recheck.mjs", RECHECK);
  return findings;

  async function* linesOf(parts: AsyncIterable<EvidencePart>) {
    for await (const { file, content } of parts)
      if (file.endsWith(".ndjson")) yield [file, content] as const;
      else {
        await folder.write(file, file === "connected.json" ? await connectedTo(service, content as Set[]) : content);
        if (file === "audit-check.json") findings.push(...faultsOf(content as Verified));
      }
  }
}

type Verified = Awaited<ReturnType<Admin["verifyAudit"]>>;
type Set = { service: string; manifestHash: string };

function faultsOf({ faults, omittedFaults }: Verified): Findings {
  const more = omittedFaults === 0 ? [] : [`audit log: ${omittedFaults} more faults`];
  return [...faults.map((fault) => `audit log: ${fault}`), ...more];
}

/** The agent's function sets, and whether the service's newest one matches the file. */
async function connectedTo({ manifest }: Service, sets: Set[]) {
  const { hashManifest } = await import("@patchbay/control-plane/admin");
  const manifestHash = hashManifest(manifest);
  const newest = sets.findLast(({ service }) => service === manifest.name);
  return {
    file: { service: manifest.name, manifestHash, isNewest: newest?.manifestHash === manifestHash },
    sets,
  };
}
