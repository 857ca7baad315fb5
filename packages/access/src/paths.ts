import { quote } from "./sentences.ts";
import type { JsonValue } from "@patchbay/kit";
import { show, type SchemaChange, type Wider } from "@patchbay/schema";

/** Most paths that sentences name for one schema. */
const MOST_PATHS = 10;

/** The narrower paths, if the comparison could decide. */
export function narrowed({ verdict, narrower }: SchemaChange): Wider[] {
  if (verdict === "narrower") return narrower.slice(0, MOST_PATHS);
  return verdict === "incomparable" ? narrower.filter(({ witness }) => witness !== undefined).slice(0, MOST_PATHS) : [];
}

interface Sentence {
  path: string;
  reason: string;
  /** Empty, or a part of a sentence. */
  witness: string;
  kind: "widening" | "unproven";
}

/** Paths for sentences: each one with a witness is a widening. The last sentence counts the omitted paths. */
export function shortened(wider: readonly Wider[]): Sentence[] {
  const shown = wider
    .toSorted((a, b) => Number(b.witness !== undefined) - Number(a.witness !== undefined))
    .slice(0, MOST_PATHS);
  const sentences = shown.map(({ path, reason, witness }): Sentence => ({
    path,
    reason,
    witness: witness === undefined ? "" : suchAs(witness, reason),
    kind: witness === undefined ? "unproven" : "widening",
  }));
  const more = wider.length - shown.length;
  if (more === 0) return sentences;
  const reason = `${more} more ${more === 1 ? "place differs" : "places differ"}`;
  return [...sentences, { path: "", reason, witness: "", kind: sentences.at(-1)!.kind }];
}

function suchAs(witness: JsonValue, reason: string): string {
  const value = show(witness);
  return reason.includes(value) ? "" : ` (such as ${value})`;
}

export const at = (path: string): string => (path === "" ? "" : ` at ${quote(path)}`);
