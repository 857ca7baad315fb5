import type { Versions } from "./versions.ts";

interface About {
  service: string;
  versions: Versions;
  findings: readonly string[];
  agent: string | undefined;
  since: string;
  isSampled: boolean;
}

/** The first page in the evidence folder. */
export function readmeOf({ service, versions, findings, agent, since, isSampled }: About): string {
  const { patchbay, node, commit, hasUncommittedChanges, writtenAt } = versions;
  const source =
    commit === null ? "not in git" : `${commit}${hasUncommittedChanges === true ? ", with uncommitted changes" : ""}`;
  const rows = [...FILES, ...(agent === undefined ? [] : RECORDS), ...(isSampled ? SAMPLE : [])].map(
    ([name, what]) => `| \`${name}\` | ${what} |`,
  );
  return `# Access of ${service}

Written ${writtenAt} by Patchbay ${patchbay} on Node.js ${node}. Source: ${source}.
${agent === undefined ? "Without `--agent`, the evidence has no records of a running service." : `Agent ${agent}, since ${since}.`}

${findings.length === 0 ? "No findings." : `Findings:\n\n${findings.map((finding) => `- ${finding}`).join("\n")}`}

| file | contents |
|---|---|
${rows.join("\n")}

Check the files with \`sha256sum -c SHA256SUMS\`${agent === undefined ? "" : ", and the audit log with `node recheck.mjs`"}. The page
"Evidence for auditors" of the documentation says how to repeat each result, and what it does not show.
`;
}

const FILES = [
  ["matrix.json", "which role may call which function, and the decision on each declared case"],
  ["matrix.md", "the same as a table"],
  ["access.lock.json", "the access that the code gives now: role lists, schemas, fingerprints of code"],
  ["access.never.json", "what may never be granted, if the service has this list"],
  [
    "check.json",
    "differences from the reviewed lock, broken rules of the never-list, conditional functions without a refused case",
  ],
  ["attacks.json", "attempts and findings of the escalation suite by attack, role and OWASP risk (ASI01 to ASI10)"],
  ["attacks.txt", "the same as a table"],
  [
    "flows.json",
    "each source and sink of data-flow rules by role: proved, tested in stored runs, or open, if the service has flows",
  ],
  ["search.json", "calls that no case shows, found by a search, with its seed"],
  [
    "adequacy.json",
    "how many small changes of `authorize` the cases notice, with the seed, and the changes that they miss",
  ],
  ["versions.json", "versions, commit and time"],
] as const;

const RECORDS = [
  ["connected.json", "hashes of the function sets that were connected, and whether the newest one is that of the file"],
  ["use.json", "which roles used their functions in the period"],
  ["reviews.json", "sign-offs of the access by members in the period, with the function sets and locks"],
  ["periods.json", "which function set and lock the runs of the period started with, in the order of time"],
  [
    "oversight.json",
    "approvals of the period: requested, granted, within 5 s, edited, expired, and the median time to decide",
  ],
  ["audit-check.json", "the check of the whole audit log of the organisation"],
  ["audit-seals.ndjson", "the seals of the period"],
  [
    "audit.ndjson",
    "the sealed entries: the agent's and the organisation's own in full, those of other agents as digests",
  ],
  ["recheck.mjs", "checks the two files above, without Patchbay"],
] as const;

const SAMPLE = [
  ["sample.json", "the seed, the number of runs in the period, and the chosen ones: the lowest SHA-256 of `SEED:RUN`"],
  ["sample.ndjson", "each chosen run with its events and audit entries; `run` is null after it was erased"],
] as const;
