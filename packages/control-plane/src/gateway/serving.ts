import type { Manifest, OperatorLimits } from "@patchbay/protocol";
import type { ServiceSet } from "../ports/function-gateway.ts";
import type { Log } from "../ports/log.ts";
import type { PlacedSet, SetIdentity } from "../ports/stores.ts";
import type { Comparison } from "./comparison.ts";
import type { Line, LineIdentity } from "./line.ts";
import type { Manifests } from "./manifests.ts";
import { Compatible } from "./conflict.ts";
import type { SetOrder, SetOrders } from "./set-order.ts";

/** A service's function set that new runs get, and the runtimes that have it. */
export interface ServedSet extends ServiceSet {
  deployment: string;
  place: number;
  /** True for an older set that serves because no runtime of the newest one is connected. */
  standsIn: boolean;
  lines: Line[];
}

/** A connected service whose functions new runs do not get. */
export interface WithheldService {
  service: string;
  reason: string;
  /** The set that would serve. */
  awaited: SetIdentity | undefined;
}

export interface Served {
  served: ServedSet[];
  withheld: WithheldService[];
  /** Of each service that has no connected runtime, the set that would serve. */
  absent: SetIdentity[];
}

/** Decides which function set of each service serves new runs. */
export interface Serving {
  of(agentId: string, lines: readonly Line[]): Promise<Served>;
  /** The lines of a service, under other sets than its own, that may be given what began on it. */
  standIns(
    agentId: string,
    lines: readonly Line[],
    own: { service: string; manifestHash: string },
    fits: (own: Manifest, other: Manifest) => boolean,
  ): Promise<Line[]>;
}

const KEEP_REASONS = 10_000;

export function createServing(options: {
  orders: SetOrders;
  manifests: Manifests;
  comparison: Comparison;
  limits: OperatorLimits;
  log: Log;
}): Serving {
  const { orders, manifests, comparison, limits, log } = options;
  const logged = new Map<string, string>();

  /** With the places of all the lines: a set without one was noted a moment ago, perhaps by another replica. */
  async function orderFor(agentId: string, lines: readonly Line[]): Promise<SetOrder> {
    const order = await orders.read(agentId);
    const isComplete = lines.every(({ identity }) => order.placeOf(identity));
    return isComplete ? order : orders.refresh(agentId);
  }

  /** Of one service: its newest set serves, or the next older connected one if it widens nothing against that. */
  async function serve(
    agentId: string,
    service: string,
    order: SetOrder,
    lines: readonly Line[],
  ): Promise<ServedSet | WithheldService | undefined> {
    const newest = lastOf(order.sets.filter((set) => set.service === service && !set.pending));
    const connected = lines.flatMap(({ identity }) => order.placeOf(identity) ?? []);
    const last = lastOf(connected);
    if (!last) return undefined;
    const withheld = (reason: string): WithheldService => ({ service, reason, awaited: newest });
    const next = lastOf(connected.filter(({ pending }) => !pending));
    if (!newest || !next) return withheld(`${describe(last)} widens access and waits for a confirmation`);
    const { manifestHash, deployment, place } = next;
    const [wanted, manifest] = await Promise.all([
      manifests.get(agentId, newest.manifestHash),
      manifests.get(agentId, manifestHash),
    ]);
    if (!wanted || !manifest) return withheld("the function sets cannot be read from the store");
    const [widening, ...more] = comparison.between(wanted, manifest);
    if (widening) {
      const others = more.length === 0 ? "" : ` (and ${more.length} more)`;
      return withheld(
        `no runtime of ${describe(newest)} is connected, and ${describe(next)} allows more: ${widening.text}${others}`,
      );
    }
    const { defaultRole } = manifest;
    // The comparison sees one service. A default role holds for the functions of all services of the agent.
    const hasOthers = order.sets.some((set) => set.service !== service);
    if (hasOthers && defaultRole !== undefined && defaultRole !== wanted.defaultRole) {
      const now = wanted.defaultRole === undefined ? "has no default role" : `has ${wanted.defaultRole}`;
      return withheld(
        `no runtime of ${describe(newest)} is connected, and ${describe(next)} has the default role ${defaultRole} where the newest set ${now}`,
      );
    }
    return {
      service,
      deployment,
      place,
      manifest,
      manifestHash,
      standsIn: manifestHash !== newest.manifestHash,
      lines: lines.filter(({ identity }) => identity.manifestHash === manifestHash && isUsable(identity, order)),
    };
  }

  function note(agentId: string, { service, reason }: WithheldService): void {
    const key = JSON.stringify([agentId, service]);
    if (logged.get(key) === reason) return;
    logged.set(key, reason);
    if (logged.size > KEEP_REASONS) logged.delete(logged.keys().next().value ?? key);
    log.warn("the functions of a service are withheld", { agentId, service, reason });
  }

  return {
    async of(agentId, lines) {
      if (lines.length === 0) return { served: [], withheld: [], absent: [] };
      const order = await orderFor(agentId, lines);
      const ofServices = Map.groupBy(lines, ({ identity }) => identity.service);
      const each = await Promise.all([...ofServices].map(([service, some]) => serve(agentId, service, order, some)));
      const withheld = each.filter((one) => one !== undefined && "reason" in one);
      const served: ServedSet[] = [];
      const compatible = new Compatible(limits);
      // Sets that cannot be combined are refused at connect, but two replicas may accept them at once, or an older set stands in.
      for (const one of each.filter((one) => one !== undefined && "lines" in one).toSorted(bySeniority)) {
        const reason = compatible.add(one);
        if (reason === undefined) served.push(one);
        else withheld.push({ service: one.service, reason, awaited: undefined });
      }
      for (const one of withheld) note(agentId, one);
      for (const { service } of served) logged.delete(JSON.stringify([agentId, service]));
      const absent = newestOf(order.sets.filter(({ service, pending }) => !pending && !ofServices.has(service)));
      return { served: served.toSorted((a, b) => (a.service < b.service ? -1 : 1)), withheld, absent };
    },

    async standIns(agentId, lines, own, fits) {
      const manifest = await manifests.get(agentId, own.manifestHash);
      if (!manifest) return [];
      const ofService = lines.filter(
        ({ identity }) => identity.service === own.service && identity.manifestHash !== own.manifestHash,
      );
      if (ofService.length === 0) return [];
      const order = await orderFor(agentId, ofService);
      const found: Line[] = [];
      for (const line of ofService) {
        const other = isUsable(line.identity, order) ? await manifests.read(line) : undefined;
        if (other && fits(manifest, other)) found.push(line);
      }
      return found;
    },
  };
}

function isUsable(line: LineIdentity, order: SetOrder): boolean {
  const set = order.placeOf(line);
  return set !== undefined && !set.pending;
}

function lastOf(sets: readonly PlacedSet[]): PlacedSet | undefined {
  let last = sets[0];
  for (const set of sets)
    if (set.place > last!.place || (set.place === last!.place && set.position > last!.position)) last = set;
  return last;
}

const newestOf = (sets: readonly PlacedSet[]): PlacedSet[] =>
  [...Map.groupBy(sets, ({ service }) => service).values()].flatMap((some) => lastOf(some) ?? []);

const bySeniority = (a: ServedSet, b: ServedSet): number =>
  Number(a.standsIn) - Number(b.standsIn) || a.place - b.place;

const describe = ({ deployment, named, service }: SetIdentity): string =>
  `${named ? `deployment ${deployment}` : `instance ${deployment}`} of ${service}`;
