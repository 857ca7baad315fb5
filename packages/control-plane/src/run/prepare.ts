import type { Fault, JsonObject, JsonValue, PreparedContext } from "@patchbay/protocol";
import {
  type FunctionGateway,
  type FunctionSession,
  type FunctionSet,
  hooksOf,
  type MissingService,
  type ServiceSet,
} from "../ports/function-gateway.ts";
import { writeSubject } from "../ports/subject.ts";

/** The functions that a run gets, and what their services made of its context. */
export interface Prepared {
  set: FunctionSet;
  /** What of the context the model is told. */
  told: JsonValue;
  /** Whose data the query is about, as `writeSubject` writes it. */
  subject?: string;
  /** The services whose hooks cannot be asked. */
  silentHooks: string[];
  /** Names each service whose functions the run does not get. */
  warnings: string[];
}

/**
 * Lets the code of each service look at the context. Faults where it meets the schema of no service that declares one, or not
 * that of a service with hooks: a caller must not get around them with a context. Undefined where no runtime answered.
 */
export async function prepareServices(
  agentId: string,
  session: FunctionSession,
  { role, context }: { role: string | undefined; context: JsonObject },
  gateway: Pick<FunctionGateway, "prepare" | "combine">,
  signal: AbortSignal,
): Promise<Prepared | { faults: Fault[] } | undefined> {
  const input = { context, ...(role !== undefined && { role }) };
  const asked = await Promise.all(
    session.services.map(async (one): Promise<Asked> => {
      if (!one.manifest.preparesContext) return { ...one, prepared: { ok: true } };
      return { ...one, prepared: await gateway.prepare(agentId, one.manifestHash, input, { signal }) };
    }),
  );
  const isAlone = asked.length === 1;
  const refused = asked.filter(({ prepared }) => prepared?.ok === false);
  const guards = refused.filter(hasHooks);
  if (guards.length > 0) return { faults: guards.flatMap((one) => faultsOf(one, isAlone)) };
  const met = asked.filter((one): one is Met => one.prepared?.ok === true);
  if (refused.length > 0 && !asked.some((one) => one.prepared?.ok !== false && checksContext(one)))
    return { faults: refused.flatMap((one) => faultsOf(one, isAlone)) };
  if (met.length === 0) return undefined;
  const subject = subjectOf(met);
  return {
    set: met.length === asked.length ? session : await gateway.combine(agentId, met),
    told: isAlone ? told(met[0]!, context) : toldBy(met, context),
    ...(subject !== undefined && { subject }),
    silentHooks: [
      ...session.missing.filter((one) => one.hasHooks),
      ...asked.filter((one) => !one.prepared && hasHooks(one)),
    ].map(({ service }) => service),
    warnings: [...session.missing.map(missingWarning), ...asked.flatMap(warningOf)],
  };
}

type Asked = ServiceSet & { prepared: PreparedContext | undefined };
type Met = ServiceSet & { prepared: Extract<PreparedContext, { ok: true }> };

/** Runtimes of an earlier version do not say whether they have a schema of the context. */
const checksContext = ({ manifest }: ServiceSet): boolean => manifest.checksContext ?? manifest.preparesContext;

const hasHooks = (set: ServiceSet): boolean => hooksOf(set).length > 0;

function faultsOf({ service, prepared }: Asked, isAlone: boolean): Fault[] {
  const faults = prepared?.ok === false ? prepared.faults : [];
  return isAlone ? faults : faults.map(({ path, message }) => ({ path: `${service}.${path}`, message }));
}

function warningOf({ service, prepared }: Asked): string[] {
  if (prepared?.ok) return [];
  const why = prepared ? `The context does not fit service ${service}` : `Service ${service} did not answer`;
  return [`${why}: its functions are left out of this query.`];
}

const missingWarning = ({ service }: MissingService): string =>
  `Service ${service} is not connected: its functions are left out of this query.`;

const told = ({ prepared }: Met, context: JsonObject): JsonValue =>
  prepared.told === undefined ? context : prepared.told;

/** A service that does not read the context tells nothing of it, so that it cannot tell what another one keeps from the model. */
function toldBy(met: readonly Met[], context: JsonObject): JsonValue {
  const readers = met.filter(({ manifest }) => manifest.preparesContext);
  if (readers.length === 0) return context;
  return Object.fromEntries(readers.map((one) => [one.service, told(one, context)]));
}

/** Of the same form for one service and for several, so that history does not depend on which others are connected. */
function subjectOf(met: readonly Met[]): string | undefined {
  return writeSubject(
    met.flatMap(({ service, prepared: { subject } }) => (subject === undefined ? [] : [[service, subject] as const])),
  );
}
