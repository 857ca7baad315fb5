import { type Fault, type PreparedContext } from "@patchbay/protocol";
import { type JsonObject, type JsonValue, present } from "@patchbay/kit";
import {
  type FunctionGateway,
  type FunctionSession,
  type FunctionSet,
  hooksOf,
  type MissingService,
  type ServiceSet,
} from "../../ports/function-gateway.ts";
import type { Caller } from "../../ports/callers.ts";

/** A run's functions, and what their services made from its context. */
export interface Prepared {
  set: FunctionSet;
  /** The context that the model sees. */
  modelContext: JsonValue;
  /** The identity that the services made from the context, as `subjectOf` writes it. */
  subject?: string;
  /** Services with hooks that cannot be asked. */
  silentHooks: string[];
  /** One for each service whose functions the run does not get. */
  warnings: string[];
}

/**
 * Has each service check and prepare the context. Returns faults when the context meets none of the declared schemas,
 * or not the schema of a service with hooks: otherwise a caller could bypass the hooks with an unfit context. Undefined
 * when no runtime answered.
 */
export async function prepareServices(
  agentId: string,
  session: FunctionSession,
  caller: Caller,
  gateway: Pick<FunctionGateway, "prepare" | "combine">,
  options: Parameters<FunctionGateway["prepare"]>[3],
): Promise<Prepared | { faults: Fault[] } | undefined> {
  const { context } = caller;
  const asked = await Promise.all(
    session.services.map(async (one): Promise<Asked> => {
      if (!one.manifest.preparesContext) return { ...one, prepared: { ok: true } };
      return { ...one, prepared: await gateway.prepare(agentId, one.manifestHash, caller, options) };
    }),
  );
  const isOnly = asked.length === 1;
  const refused = asked.filter(({ prepared }) => prepared?.ok === false);
  const guards = refused.filter(hasHooks);
  if (guards.length > 0) return { faults: guards.flatMap((one) => faultsOf(one, isOnly)) };
  const met = asked.filter((one): one is Met => one.prepared?.ok === true);
  if (refused.length > 0 && !asked.some((one) => one.prepared?.ok !== false && checksContext(one)))
    return { faults: refused.flatMap((one) => faultsOf(one, isOnly)) };
  if (met.length === 0) return undefined;
  const subject = subjectOf(met);
  return {
    set: met.length === asked.length ? session : await gateway.combine(agentId, met),
    modelContext: isOnly ? contextFor(met[0]!, context) : contextByService(met, context),
    silentHooks: [
      ...session.missing.filter((one) => one.hasHooks),
      ...asked.filter((one) => !one.prepared && hasHooks(one)),
    ].map(({ service }) => service),
    warnings: [...session.missing.map(missingWarning), ...asked.flatMap(warningOf)],
    ...present({ subject }),
  };
}

type Asked = ServiceSet & { prepared: PreparedContext | undefined };
type Met = ServiceSet & { prepared: Extract<PreparedContext, { ok: true }> };

/** Runtimes with an earlier version do not send whether they have a context schema. */
const checksContext = ({ manifest }: ServiceSet): boolean => manifest.checksContext ?? manifest.preparesContext;

const hasHooks = (set: ServiceSet): boolean => hooksOf(set).length > 0;

function faultsOf({ service, prepared }: Asked, isOnly: boolean): Fault[] {
  const faults = prepared?.ok === false ? prepared.faults : [];
  return isOnly ? faults : faults.map(({ path, message }) => ({ path: `${service}.${path}`, message }));
}

function warningOf({ service, prepared }: Asked): string[] {
  if (prepared?.ok) return [];
  const why = prepared ? `The context does not fit service ${service}` : `Service ${service} did not answer`;
  return [`${why}: its functions are left out of this query.`];
}

const missingWarning = ({ service }: MissingService): string =>
  `Service ${service} is not connected: its functions are left out of this query.`;

const contextFor = ({ prepared }: Met, context: JsonObject): JsonValue =>
  prepared.modelContext === undefined ? context : prepared.modelContext;

/** Only services that read the context count. One that does not would otherwise show the model what another one withholds. */
function contextByService(met: readonly Met[], context: JsonObject): JsonValue {
  const readers = met.filter(({ manifest }) => manifest.preparesContext);
  if (readers.length === 0) return context;
  return Object.fromEntries(readers.map((one) => [one.service, contextFor(one, context)]));
}

/**
 * The subject with the names of the services that made it, one or several: history must not depend on which other
 * services are connected.
 */
function subjectOf(met: readonly Met[]): string | undefined {
  const named = met.flatMap(({ service, prepared: { subject } }) =>
    subject === undefined ? [] : [[service, subject]],
  );
  return named.length === 0 ? undefined : JSON.stringify(named);
}
