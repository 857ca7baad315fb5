import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Store } from "@patchbay/control-plane/admin";
import type { AccessLock, AccessMatrix } from "@patchbay/functions/access";
import type { Service } from "@patchbay/functions";
import { databaseUrl, requireDatabase } from "../database.ts";
import { createFolder, type EvidenceFolder } from "../evidence/folder.ts";
import { readmeOf } from "../evidence/readme.ts";
import { RECHECK } from "../evidence/recheck.ts";
import { writeSearch } from "../evidence/search.ts";
import { versionsOf } from "../evidence/versions.ts";
import { CommandFailure } from "../failure.ts";
import { print, printJson } from "../output.ts";
import type { AdminOptions } from "./administer.ts";

export interface EvidenceOptions extends AdminOptions {
  evidence?: string;
  agent?: string;
  since: string;
}

/** A service and what its code allows now. */
export interface Examined {
  path: string;
  service: Service;
  /** The owner's files. */
  files: ReadonlySet<string>;
  matrix: AccessMatrix;
  lock: AccessLock;
}

/** What a part of the evidence found. Empty: nothing. */
type Findings = string[];

/** `access --evidence`: writes what is known about the access of a service, with checksums, and every finding. */
export async function writeEvidence(examined: Examined, options: EvidenceOptions): Promise<void> {
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

/** What is connected, who used it, and the sealed audit log of the period. */
async function writeRecords(
  folder: EvidenceFolder,
  { service }: Examined,
  options: EvidenceOptions & { agent: string },
): Promise<Findings> {
  const { agent: agentId, since } = options;
  requireDatabase(options, { mayCreate: false });
  const { createAdmin, openStore } = await import("@patchbay/control-plane/admin");
  const store = await openStore(databaseUrl(options));
  try {
    const admin = createAdmin({ store });
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
  } finally {
    await store.close();
  }
}

/** The function sets of the agent, and whether the newest one of the service is the one of the file. */
async function connectedSets({ runtimes }: Store, agentId: string, { manifest }: Service) {
  const { hashManifest } = await import("@patchbay/control-plane/admin");
  const manifestHash = hashManifest(manifest);
  const sets = await runtimes.functionSets(agentId);
  const newest = sets.findLast(({ service }) => service === manifest.name);
  return {
    file: { service: manifest.name, manifestHash, isNewest: newest?.manifestHash === manifestHash },
    sets: sets.map(({ firstSeenAt, confirmedAt, ...set }) => ({
      ...set,
      firstSeenAt: new Date(firstSeenAt).toISOString(),
      ...(confirmedAt !== undefined && { confirmedAt: new Date(confirmedAt).toISOString() }),
    })),
  };
}

const SEALS = "audit-seals.ndjson";
const ENTRIES = "audit.ndjson";

/** Seals of the period with their entries. Entries of other agents are withheld: their digests suffice to check the seals. */
async function* slice(
  { audit }: Store,
  { orgId, agentId, from }: { orgId: string; agentId: string; from: number },
): AsyncGenerator<readonly [string, object]> {
  for await (const one of audit.check(orgId)) {
    if (!("seq" in one) || one.to.at < from) continue;
    const { seq, before, head, entries, to, content, found } = one;
    yield [SEALS, { org: orgId, seq, before, head, entries, at: to.at, id: to.id, content }];
    for (const { line, digest, agentId: of } of found)
      yield [ENTRIES, { seal: seq, digest, ...((of === null || of === agentId) && { entry: line }) }];
  }
}
