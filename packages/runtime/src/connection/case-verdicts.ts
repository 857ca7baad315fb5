import { clearTimer, setTimeout } from "@patchbay/kit/time";
import { type FunctionManifest, LIMITS, type Manifest, type ReportedCase } from "@patchbay/protocol";
import { isJsonObject } from "@patchbay/kit";
import { accessMatrix, type Cell } from "../access/matrix.ts";
import type { Log } from "../log.ts";
import type { Service } from "../service.ts";

/** How long the checks for all cases may take together. `authorize` may wait for a system that is not available. */
const LIMIT_MS = 3_000;

type Cases = NonNullable<FunctionManifest["cases"]>;

/**
 * The manifest with the owner's case names and each case's decision for each role that may call the function. Runs the
 * real checks without handlers. Returns the manifest as it is if they take too long or cannot be made, because a
 * service must connect also then.
 */
export async function withCaseVerdicts(service: Service, log: Log): Promise<Manifest> {
  const { manifest, access } = service;
  if (![...access.values()].some(({ cases }) => cases.size > 0)) return manifest;
  const limit = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => limit.resolve(undefined), LIMIT_MS).unref();
  try {
    const matrix = await Promise.race([accessMatrix(service), limit.promise]);
    if (matrix === undefined) {
      log.warn("the cases of the service are not shown in the console: their checks took too long", { ms: LIMIT_MS });
      return manifest;
    }
    const cells = new Map(matrix.functions.map((row) => [row.name, row.cells]));
    const functions = manifest.functions.map((declared) => {
      const cases = casesOf(service, declared.name, cells.get(declared.name) ?? {});
      return cases.length === 0 ? declared : { ...declared, cases };
    });
    return { ...manifest, functions };
  } catch (error) {
    log.warn("the cases of the service are not shown in the console: they cannot be checked", { error });
    return manifest;
  } finally {
    clearTimer(timer);
  }
}

function casesOf({ access }: Service, functionName: string, cells: Record<string, Cell>): Cases {
  return [...(access.get(functionName)?.cases ?? [])].map(([name, { roles }]) => {
    const verdicts = Object.entries(cells).flatMap(([role, cell]): [string, string][] => {
      const decision = cell.access === "conditional" ? cell.cases[name]?.decision : cell.access;
      const isAbout = roles === undefined || roles.includes(role);
      return decision === undefined || decision === "hidden" || !isAbout ? [] : [[role, decision]];
    });
    return { name, verdicts: Object.fromEntries(verdicts) };
  });
}

/** The cases with their arguments, in definition order, up to the size limit. */
export function reportedCases({ access }: Service, log: Log): ReportedCase[] {
  const all = [...access].flatMap(([functionName, { cases }]) =>
    [...cases].flatMap(([name, { input, context, roles }]): ReportedCase[] =>
      isJsonObject(input) ? [{ functionName, name, input, context, ...(roles && { roles: [...roles] }) }] : [],
    ),
  );
  let units = 2;
  const sent = all.filter((reported) => {
    const more = JSON.stringify(reported).length + 1;
    const fits = units + more <= LIMITS.reportedCasesUnits;
    if (fits) units += more;
    return fits;
  });
  if (sent.length < all.length)
    log.warn("some cases are not reported: they exceed the limit", {
      cases: all.length,
      reported: sent.length,
      limitUnits: LIMITS.reportedCasesUnits,
    });
  return sent;
}
