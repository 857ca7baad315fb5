import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { ROOT, type Installation } from "./build.ts";
import type { Generator } from "./generator.ts";
import { medians, type Figures } from "./figures.ts";
import { plainTable } from "./report/table.ts";
import { short } from "./report/musts.ts";
import { round } from "./round.ts";
import type { Target } from "./system.ts";

/** Checks out a revision of this repository below `folder`, installs its dependencies, and returns its `install`. */
export async function installerOf(revision: string, folder: string, cleanup: AsyncDisposableStack) {
  const tree = join(folder, "against");
  const git = (...args: string[]) => execFileSync("git", args, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  git("worktree", "add", "--quiet", "--detach", tree, revision);
  cleanup.defer(() => void git("worktree", "remove", "--force", tree));
  const install = ["--yes", "pnpm@12.21.0", "install", "--frozen-lockfile", "--prefer-offline"];
  execFileSync("npx", install, { cwd: tree, stdio: ["ignore", "ignore", "inherit"] });
  return (await import(join(tree, "bench/build.ts"))) as { install(folder: string): Promise<Installation> };
}

/** CPU ms of a query in each revision, one row for each engine that both could start. */
export async function compareRevisions(
  [ours, theirs]: readonly [readonly Target[], readonly Target[]],
  {
    provider,
    generator,
    rounds,
    note,
  }: { provider: string; generator: Generator; rounds: number; note: (text: string) => void },
): Promise<string> {
  const rows: string[][] = [["CPU ms per query, 16 at a time", "here", "there", "here / there"]];
  for (const here of ours) {
    const there = theirs.find(({ letter }) => letter === here.letter);
    if (!there) continue;
    const figures: [Figures[], Figures[]] = [[], []];
    for (let i = 0; i < rounds; i++) {
      note(`round ${i + 1} of ${rounds}: ${here.letter}, ${here.name}, both revisions`);
      // Each revision is the first of every other round, so that a machine that slows down affects both alike.
      const turns = [here, there].map((target, at) => ({ target, at }));
      for (const { target, at } of i % 2 === 0 ? turns : turns.toReversed())
        figures[at]!.push(await round(target, { provider }, generator, { quick: true, at: [16] }));
    }
    const [now, then] = figures.map((each) => medians(each).at16CpuMs ?? Number.NaN) as [number, number];
    rows.push([here.name, short(now), short(then), (now / then).toFixed(2)]);
  }
  return `${plainTable(rows)}\n`;
}
