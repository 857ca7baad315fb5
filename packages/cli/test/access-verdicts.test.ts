import type { AccessChange } from "@patchbay/functions/access";
import { expect, test } from "vitest";
import { BLIND } from "./access-corpus/blind.ts";
import type { Edit } from "./access-corpus/edits.ts";
import { HIDDEN } from "./access-corpus/hidden.ts";
import { linesOf, sampled } from "./access-corpus/lines.ts";
import { UNLOCKED } from "./access-corpus/unlocked.ts";
import type { SearchVerdict } from "./access-corpus/verdicts.ts";

/** The names of the edits that the search lets pass, and of those in which it finds no widening. */
async function searched(edits: readonly Edit[]): Promise<{ passed: string[]; missed: string[] }> {
  const verdicts = await linesOf<SearchVerdict>("verdicts.ts", edits, "harbor");
  const names = (is: (verdict: SearchVerdict) => boolean) =>
    edits.filter((_, i) => is(verdicts[i]!)).map(({ name }) => name);
  return { passed: names(({ passed }) => passed), missed: names(({ widenings }) => widenings === 0) };
}

test("the check reports 69 edits of schemas, hooks and texts that widen or mislead", async () => {
  expect(UNLOCKED).toHaveLength(69);

  const found = await linesOf<{ changes: AccessChange[] }>("compare.ts", UNLOCKED, "harbor");

  const isReported = ({ kind }: AccessChange) => kind !== "narrowing";
  expect(UNLOCKED.filter((_, i) => !found[i]!.changes.some(isReported)).map(({ name }) => name)).toEqual([]);
});

test("no search passes 60 widenings in rules over records whose ids it does not know", async () => {
  expect(BLIND).toHaveLength(60);

  expect((await searched(sampled(BLIND))).passed).toEqual([]);
});

test("the search finds 30 conditions that random values rarely meet", async () => {
  expect(HIDDEN).toHaveLength(30);

  expect(await searched(sampled(HIDDEN))).toEqual({ passed: [], missed: [] });
});
