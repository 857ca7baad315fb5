import { isoTime } from "@patchbay/kit";
import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { Store } from "@patchbay/control-plane/admin";
import type { AccessLock, AccessMatrix } from "@patchbay/functions/access";
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
import { DEFAULTS, explore } from "@patchbay/access-lab/search/search";
import { launchJudge } from "../../search-child.ts";
import { withAdmin } from "../administer.ts";
import type { AccessOptions } from "./options.ts";
import type { Loaded } from "./search.ts";

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
  const folder = await createFolder(path);
  const findings = [
    ...(agent === undefined ? [] : await writeRecords(folder, examined, { ...options, agent })),
    ...(await writeAccess(folder, examined)),
    ...(await writeAttacks(folder, examined)),
  ];
  await writeSearch(folder, examined);
  const versions = await versionsOf(examined.path);
  await folder.write("versions.json", versions);
  await folder.write(
    "README.md",
    readmeOf({ service: examined.matrix.service, versions, findings, agent, since: options.since }),
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
  const functions = await explore({ facts: factsOf(service, files), judge: judgeOf(service) }, { ...DEFAULTS, seed });
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

/** Connected sets, their users, and the sealed audit log for the period. */
async function writeRecords(
  folder: EvidenceFolder,
  { service }: Examined,
  options: AccessOptions & { agent: string },
): Promise<Findings> {
  const { agent: agentId, since } = options;
  return await withAdmin(options, async (admin, store) => {
    const use = await admin.accessUse(agentId, service.manifest, { since });
    const { orgId } = (await store.accounts.getAgent(agentId))!;
    await store.audit.seal({ orgId });
    const verified = await admin.verifyAudit(orgId);
    await folder.write("connected.json", await connectedSets(store, agentId, service));
    await folder.write("use.json", use);
    await folder.write("audit-check.json", verified);
    await folder.write("recheck.mjs", RECHECK);
    await folder.writeLines(slice(store, { orgId, agentId, from: Date.parse(use.since) }), [SEALS, ENTRIES]);
    const { faults, omittedFaults } = verified;
    const more = omittedFaults === 0 ? [] : [`audit log: ${omittedFaults} more faults`];
    return [...faults.map((fault) => `audit log: ${fault}`), ...more];
  });
}

/** The agent's function sets, and whether the service's newest one matches the file. */
async function connectedSets({ runtimes }: Store, agentId: string, { manifest }: Service) {
  const { hashManifest } = await import("@patchbay/control-plane/admin");
  const manifestHash = hashManifest(manifest);
  const sets = await runtimes.functionSets(agentId);
  const newest = sets.findLast(({ service }) => service === manifest.name);
  return {
    file: { service: manifest.name, manifestHash, isNewest: newest?.manifestHash === manifestHash },
    sets: sets.map(({ firstSeenAt, confirmedAt, ...set }) => ({
      ...set,
      firstSeenAt: isoTime(firstSeenAt),
      ...(confirmedAt !== undefined && { confirmedAt: isoTime(confirmedAt) }),
    })),
  };
}

const SEALS = "audit-seals.ndjson";
const ENTRIES = "audit.ndjson";

/** The period's seals with their entries. Other agents' entries are withheld: their digests suffice to check the seals. */
async function* slice(
  { audit }: Store,
  { orgId, agentId, from }: { orgId: string; agentId: string; from: number },
): AsyncGenerator<readonly [string, object]> {
  for await (const segment of audit.check(orgId)) {
    if (!("seq" in segment) || segment.to.at < from) continue;
    const { seq, before, head, entries, to, content, found } = segment;
    yield [SEALS, { org: orgId, seq, before, head, entries, at: to.at, id: to.id, content }];
    for (const { line, digest, agentId: of } of found)
      yield [ENTRIES, { seal: seq, digest, ...((of === null || of === agentId) && { entry: line }) }];
  }
}
