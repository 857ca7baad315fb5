import type { AccessLock } from "@patchbay/protocol";
import { quote } from "../sentences.ts";
import { heldBy } from "./compare.ts";

/** What a data-flow rule needs of a role's calls to a function. `sources`: the functions after which it needs that. */
export interface FlowNeed {
  rule: string;
  needs: string;
  sources: string[];
}

/** The data-flow rules for a role's calls to a function, with their sources. Empty for a function without any. */
export function flowNeeds(surface: Pick<AccessLock, "functions">, name: string, role: string): FlowNeed[] {
  const { effect, flow: { mode, targets = {}, sends = [] } = {} } = surface.functions[name]!;
  if (mode === undefined) return [];
  const { untrusted, private: secrets } = heldBy(surface, role);
  const ruled = Object.entries(targets).filter(([, from]) => from !== "any");
  const isGrave = ruled.length > 0 && (effect !== "read" || sends.length > 0);
  const after = (rule: string, sources: string[], needs: string): FlowNeed[] =>
    sources.length > 0 ? [{ rule, needs, sources }] : [];
  const all = (members: readonly string[]): string => members.map(quote).join(", ");
  return [
    ...ruled.map(([member, from]) => {
      const giver = from === "trusted" ? "the caller or a trusted result" : "the caller";
      return { rule: "target", needs: `${quote(member)} has a value that ${giver} gave`, sources: [] };
    }),
    ...after(
      ruled.some(([, from]) => from === "trusted") ? "mention, choice" : "mention",
      isGrave ? untrusted : [],
      `the caller asked for this call with ${all(ruled.map(([member]) => member))}`,
    ),
    ...after("secret", sends.length > 0 ? secrets : [], `no call sends ${all(sends)}`),
    ...after("link", sends.length > 0 ? untrusted : [], `${all(sends)} has no link that the caller did not write`),
  ];
}
