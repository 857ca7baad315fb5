import type { AccessLock } from "@patchbay/protocol";
import { isSameCode } from "./calls.ts";
import { type AccessChange, change, quote } from "./sentences.ts";

/** The facts that differ, if both states know them. */
function differing(was: Record<string, string> | undefined, is: Record<string, string> | undefined) {
  if (was === undefined || is === undefined) return [];
  return Object.keys({ ...was, ...is })
    .map((key) => ({ key, old: was[key], now: is[key] }))
    .filter(({ old, now }) => old !== now);
}

/** Changed hooks, `modelContext` and instructions. A hook that is new or gone is compared elsewhere. */
export function compareGuards(before: AccessLock, after: AccessLock): AccessChange[] {
  const code = differing(before.code, after.code).flatMap(({ key, old, now }) => {
    if (isSameCode(old, now)) return [];
    const about = key === "modelContext" ? "modelContext" : "hook";
    if (old !== undefined && now !== undefined)
      return [change("unproven", about, `${key}, or code that it uses, changed, which the comparison cannot judge`)];
    if (about === "hook") return [];
    const gone = change("widening", about, "modelContext is gone, so the model receives the whole context");
    return [old === undefined ? change("narrowing", about, "modelContext is new") : gone];
  });
  return [...code, ...compareTexts("the service", before, after)];
}

type Informed = Pick<AccessLock, "texts" | "parsing">;

/** Changed texts and flags that inform models, clients and people. */
export const compareTexts = (of: string, before: Informed, after: Informed): AccessChange[] =>
  differing(before.texts, after.texts).map(({ key }) => change("changed", "text", `${key} of ${of} changed`));

/**
 * What a schema does before it judges. `isDecided`: code may decide otherwise on what a default adds; without code, no
 * call gains a decision by it.
 */
export function compareParsing(of: string, before: Informed, after: Informed, isDecided: boolean): AccessChange[] {
  return differing(before.parsing, after.parsing).map(({ key, old, now }) => {
    const [kind = "", ...path] = key.split(" ");
    const at = path.join(" ") === "" ? of : `${of} at ${quote(path.join(" "))}`;
    const say = (what: AccessChange["kind"], sentence: string) => change(what, "parsing", sentence);
    if (kind === "default") {
      const values = `default ${now ?? "none"} replaces ${old ?? "none"}`;
      const unknown = ", and no case shows whether more calls pass";
      return isDecided ? say("unproven", `${at}: ${values}${unknown}`) : say("changed", `${at}: ${values}`);
    }
    const more = kind === "unlisted" ? "a member that the schema does not list passes" : "any value is converted";
    const less = kind === "unlisted" ? "a member that the schema does not list is refused" : "no value is converted";
    const isMore = (now ?? "").length > (old ?? "").length;
    return isMore !== (kind === "unlisted") ? say("widening", `${at}: ${more}`) : say("narrowing", `${at}: ${less}`);
  });
}
