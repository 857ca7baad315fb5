import { roleOfColumn } from "@patchbay/access";
import { canonicalJson, type JsonObject, silentLog, withoutOne } from "@patchbay/kit";
import type { Service } from "@patchbay/functions";
import type { Call } from "../solve/solve.ts";

export type { Call };

/**
 * The gate's decisions on one call, a letter for each role column: `a` allowed, `p` allowed with an approval, `d`
 * denied by code, `i` denied because the arguments or the context do not match, `h` hidden.
 */
export type Decisions = string;

/** Asks one service's gate about calls to a function, as every role in `columns`. No handler runs. */
export type Judge = (functionName: string, columns: readonly string[], calls: readonly Call[]) => Promise<Decisions[]>;

export function judgeOf(service: Service): Judge {
  return async (functionName, columns, calls) => {
    const found: Decisions[] = [];
    for (const { input, context } of calls) {
      let decisions = "";
      for (const column of columns) {
        // Owner code may change what it receives.
        const request = {
          functionName,
          role: roleOfColumn(column),
          context: structuredClone(context),
          arguments: structuredClone(input),
        };
        decisions += letterOf(await service.check(request));
      }
      found.push(decisions);
    }
    return found;
  };
}

function letterOf(verdict: Awaited<ReturnType<Service["check"]>>): string {
  if (verdict.ok) return "a";
  const { rule, outcome } = verdict;
  if (rule === "unknown" || rule === "roles") return "h";
  if (rule === "input" || rule === "context") return "i";
  return outcome.code === "approval_required" ? "p" : "d";
}

/** How much a decision allows: an approval less than a call without one. */
export function rankOf(letter: string | undefined): number {
  return letter === "a" ? 2 : letter === "p" ? 1 : 0;
}

export const wordOf = (letter: string | undefined): "allowed" | "approval" | "denied" =>
  letter === "a" ? "allowed" : letter === "p" ? "approval" : "denied";

/** Contexts for which the service names no subject: those with one member less than a given one. */
export async function withoutSubject(service: Service, contexts: readonly JsonObject[]): Promise<JsonObject[]> {
  if (!service.manifest.namesSubject) return [];
  const found = new Map<string, JsonObject>();
  for (const context of contexts.flatMap(withoutOne)) {
    const prepared = await service.prepare({ context }, { log: silentLog });
    if (prepared.ok && prepared.subject === undefined) found.set(canonicalJson(context), context);
  }
  return [...found.values()];
}
