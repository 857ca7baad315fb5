import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const MAX_LENGTH = 65;
/** Verbs that name a change; a wished state ("Keep", "Let", "Show") does not say what the commit does. */
const VERBS = new Set(
  `Accept Add Align Allow Apply Ask Assert Attach Authorize Bind Block Bound Build Bundle Cache Cancel Cap Check Choose
  Clarify Clean Close Collect Combine Compare Compile Compress Compute Configure Confirm Connect Convert Copy Correct
  Cover Create Declare Deduplicate Defer Define Delete Deny Deploy Deprecate Derive Describe Detach Detect Disable
  Disconnect Dispose Divide Document Drop Embed Enable Encode Escape Estimate Exclude Expand Expire Explain Export
  Expose Extend Extract Fetch Filter Find Fix Flatten Fold Forbid Format Forward Generate Group Guard Handle Hash Hide
  Ignore Implement Import Include Increase Index Infer Inject Inline Insert Install Introduce Isolate Join Limit Link
  List Load Lock Log Lower Map Mark Match Measure Merge Migrate Move Normalize Omit Order Pack Parse Pass Pause Pin
  Poll Prepare Prevent Print Propagate Protect Prove Publish Query Raise Read Reattach Rebuild Recompute Reconnect
  Record Redact Reduce Refactor Reflect Refuse Reject Release Reload Remove Rename Render Reorder Repair Repeat
  Replace Replay Report Require Reserve Reset Resolve Restore Restrict Resume Retry Return Reuse Revert Rewrite Rotate
  Route Run Sample Save Seal Search Select Send Separate Serialize Serve Set Settle Share Shorten Sign Simplify Skip
  Sort Speed Split Squash Start Stop Store Stream Strip Support Switch Test Throttle Track Trim Truncate Unify Update
  Upgrade Use Validate Verify Warn Widen Wrap Write`.split(/\s+/u),
);
/** The id of the last commit that is accepted as it is. */
const SINCE = "check/commits-since.txt";

/** What is wrong with a commit subject, with the remedy. */
export function subjectFaults(subject: string): string[] {
  const faults: string[] = [];
  const verb = subject.split(" ", 1)[0]!;
  if (subject.length > MAX_LENGTH) faults.push(`has ${subject.length} characters, at most ${MAX_LENGTH} are allowed`);
  if (!VERBS.has(verb))
    faults.push(`starts with "${verb}": start with a verb that names the change, such as Add or Fix`);
  if ((subject.match(/\bof\b/giu)?.length ?? 0) > 1) faults.push(`has "of" more than once: use compound nouns`);
  if (/\bof\b.*\b(?:that|which|who|whose)\b/iu.test(subject))
    faults.push("has a clause after a genitive: use an adjective or a compound noun");
  if (subject.endsWith(".")) faults.push("ends with a full stop");
  return faults;
}

const git = (...args: string[]) =>
  execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trimEnd();

/** The subjects after the accepted commit; undefined outside a repository, or where the clone does not have that commit. */
function newSubjects(): string[] | undefined {
  try {
    const since = readFileSync(SINCE, "utf8").trim();
    return git("log", "--no-merges", "--format=%s", `${since}..HEAD`).split("\n").filter(Boolean);
  } catch {
    return undefined;
  }
}

/** The subject of the message that git hands to the commit-msg hook; none for a commit that a rebase will squash. */
function messageSubjects(file: string): string[] {
  const subject = readFileSync(file, "utf8")
    .split("\n")
    .find((line) => line.trim() !== "" && !line.startsWith("#"));
  return subject === undefined || /^(?:fixup|squash|amend)! /u.test(subject) ? [] : [subject];
}

function main(messageFile: string | undefined): void {
  const subjects = messageFile === undefined ? newSubjects() : messageSubjects(messageFile);
  if (subjects === undefined) {
    process.stdout.write(`Commit subjects are not checked: this is not a clone with the commit in ${SINCE}.\n`);
    return;
  }
  for (const subject of subjects)
    for (const fault of subjectFaults(subject)) {
      process.stdout.write(`"${subject}" ${fault}.\n`);
      process.exitCode = 1;
    }
}

if (import.meta.main) main(process.argv[2]);
