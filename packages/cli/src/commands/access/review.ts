import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { AccessChange, AccessLock } from "@patchbay/functions/access";
import { openRevision } from "@patchbay/access-lab/search/revision";
import { CommandFailure } from "@patchbay/loading/failure";
import { oneLine, print } from "../../output.ts";
import { forbiddenBy, isSearchable, lockFileOf } from "./lock.ts";
import type { AccessOptions } from "./options.ts";
import type { Loaded } from "./gaps.ts";
import { searchChangedCode } from "./search.ts";
import { judgeCalls, type JudgedChange, NO_ROLE, WORDS } from "./what-if.ts";

/** `proved` by the lock's data, `tested` by a search with a seed, or neither. */
type Sure = "proved" | "tested" | "open";

interface Line {
  sure: Sure;
  what: string;
}

/** The calls of one review. The newest runs are examples. */
const CALLS = 10_000;

/** `access review`: writes what a change does to access since a revision as Markdown, for the comment on a pull request. */
export async function review(loaded: Loaded, now: AccessLock, options: AccessOptions): Promise<void> {
  const { against, agent } = options;
  if (against === undefined) throw new CommandFailure("review needs the revision to compare with: --against REVISION.");
  const { commit, lines, declared, forbidden } = await compareWith(loaded, now, { ...options, against });
  const calls =
    agent === undefined ? undefined : await judgeCalls(loaded.path, loaded.service, { ...options, agent, last: CALLS });
  const faults = [
    ...lines.filter(({ sure }) => sure === "open").map(() => "open"),
    ...forbidden.map(() => "forbidden"),
    ...(declared ? [] : ["not in the committed lock"]),
    ...(calls?.refused ?? []).map(() => "a real call that would be allowed"),
    ...(calls && calls.report.undecided > 0 ? ["calls without a decision"] : []),
  ];
  print(
    [
      `## Access of ${oneLine(loaded.service.manifest.name)}: ${faults.length === 0 ? "nothing to decide" : [...new Set(faults)].join(", ")}`,
      "",
      `Compared with ${against} (${commit.slice(0, 12)}).`,
      "",
      "### What the change allows",
      "",
      ...(lines.length === 0 ? ["Nothing more, and nothing less."] : rows(["", "change"], lines.map(lineOf))),
      ...forbidden.map((sentence) => `\n**Forbidden**: ${sentence}`),
      ...(declared
        ? []
        : ["", `The committed lock differs. If the change is intended, run \`--write\` and commit it.`]),
      "",
      "### What it would have decided otherwise",
      "",
      ...(calls ? callLines(calls) : ["Not compared with real calls: no `--agent`."]),
    ].join("\n"),
  );
  if (faults.length > 0) throw new CommandFailure(`Access needs a decision: ${[...new Set(faults)].join(", ")}.`);
}

/** The change in access since the lock of the revision, and how sure each part is. */
async function compareWith(loaded: Loaded, now: AccessLock, options: AccessOptions & { against: string }) {
  const { compareAccess, parseLock } = await import("@patchbay/functions/access");
  const { against } = options;
  const { file, exists } = lockFileOf(loaded.path);
  await using revision = await openRevision(against, loaded.path);
  const before = join(dirname(revision.file), basename(file));
  if (!existsSync(before)) throw new CommandFailure(`${against} has no ${basename(file)} to compare with.`);
  const changes = compareAccess(parseLock(await readFile(before, "utf8")), now);
  const names = changes.filter(isSearchable).flatMap((one) => one.functionName ?? Object.keys(now.functions));
  const { passed } =
    names.length === 0 ? { passed: new Map<string, string>() } : await searchChangedCode(loaded, options, { names });
  const sureOf = (change: AccessChange): Line => {
    const { kind, sentence, functionName } = change;
    const scope = isSearchable(change) && functionName !== undefined ? passed.get(functionName) : undefined;
    if (scope !== undefined)
      return { sure: "tested", what: `${sentence}; no call that was denied is allowed (${scope})` };
    return { sure: kind === "unproven" ? "open" : "proved", what: `${kind}: ${sentence}` };
  };
  const drift = exists ? compareAccess(parseLock(await readFile(file, "utf8")), now) : changes;
  return {
    commit: revision.commit,
    lines: changes.map(sureOf),
    declared: drift.every(({ kind }) => kind === "changed" || kind === "narrowing"),
    forbidden: await forbiddenBy(loaded.path, now),
  };
}

const cell = (text: string): string => oneLine(text).replaceAll("|", String.raw`\|`);

const rows = (head: string[], lines: string[][]): string[] =>
  [head, head.map(() => "---"), ...lines.map((line) => line.map(cell))].map((line) => `| ${line.join(" | ")} |`);

const lineOf = ({ sure, what }: Line): string[] => [`**${sure}**`, what];

function callLines({ report, changes }: Awaited<ReturnType<typeof judgeCalls>>): string[] {
  const { calls, unchanged, changed, undecided } = report;
  const counts = `Of the last ${calls} calls, ${unchanged} are unchanged and ${changed} are decided otherwise${undecided === 0 ? "" : `; ${undecided} were not decided in time`}.`;
  const line = ({ kind, accepted, calls: count, functionName, role, was, is, examples }: JudgedChange): string[] => [
    accepted ? "accepted" : WORDS[kind],
    String(count),
    functionName,
    role ?? NO_ROLE,
    kind === "show" ? is : `${was} → ${is}`,
    examples.map(({ runId }) => runId).join(" "),
  ];
  const head = ["change", "calls", "function", "role", "decision or member", "newest runs"];
  return changes.length === 0 ? [counts] : [counts, "", ...rows(head, changes.map(line))];
}
