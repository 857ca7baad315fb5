import { type FunctionManifest, type Manifest } from "@patchbay/protocol";
import { type Widening, wideningComparison } from "@patchbay/access";
import type { ServiceSet } from "@patchbay/engine/ports/function-gateway";
import { compareInTurn } from "@patchbay/engine/ports/store/comparisons";
import type { PlacedSet, SetIdentity } from "@patchbay/engine/ports/store/stores";
import type { ConnectionIdentity, RuntimeChannel } from "../channel.ts";
import type { GatewayContext } from "../context.ts";
import { createCompatibleServices } from "../handshake/manifest-limits.ts";
import type { ManifestCache } from "./manifests.ts";
import type { SetOrder, SetOrders } from "./set-order.ts";

/** A service's function set for new runs, and the runtimes that have it. */
export interface ServedSet extends ServiceSet {
  deployment: string;
  place: number;
  /** True for an older set that serves because the newest one has no connected runtime. */
  isFallback: boolean;
  channels: RuntimeChannel[];
}

/** A connected service whose functions new runs do not get. */
export interface WithheldService {
  service: string;
  reason: string;
  /** The set that would serve if one of its runtimes connected. */
  awaited: SetIdentity | undefined;
}

export interface Served {
  served: ServedSet[];
  withheld: WithheldService[];
  /** For each service without a connected runtime, the set that would serve. */
  absent: SetIdentity[];
}

const MAX_REASONS = 10_000;

interface ServingSetsDeps extends Pick<GatewayContext, "limits" | "log"> {
  orders: SetOrders;
  manifests: ManifestCache;
}

/** Decides which function set in each service serves new runs, and which other sets may serve a run's calls. */
export class ServingSets {
  readonly #deps: ServingSetsDeps;
  readonly #logged = new Map<string, string>();
  /** Function sets do not change, so each pair is compared once. */
  readonly #widenings = new WeakMap<Manifest, WeakMap<Manifest, Promise<readonly Widening[]>>>();

  constructor(deps: ServingSetsDeps) {
    this.#deps = deps;
  }

  /** The sets that serve new runs on these channels. */
  async of(agentId: string, channels: readonly RuntimeChannel[]): Promise<Served> {
    if (channels.length === 0) return { served: [], withheld: [], absent: [] };
    const order = await this.#orderFor(agentId, channels);
    const ofServices = Map.groupBy(channels, ({ identity }) => identity.service);
    const each = await Promise.all(
      [...ofServices].map(([service, some]) => this.#serve(agentId, service, order, some)),
    );
    const withheld = each.filter((one) => one !== undefined && "reason" in one);
    const served: ServedSet[] = [];
    const compatible = createCompatibleServices(this.#deps.limits);
    // The handshake refuses sets that cannot be combined, but two replicas may accept one each at the same time, and an
    // older set that replaces the newest was never checked against the others. The first service in order keeps its
    // functions.
    for (const one of each.filter((one) => one !== undefined && "channels" in one).toSorted(bySeniority)) {
      const reason = compatible.add(one);
      if (reason === undefined) served.push(one);
      else withheld.push({ service: one.service, reason, awaited: undefined });
    }
    for (const one of withheld) this.#logOnce(agentId, one);
    for (const { service } of served) this.#logged.delete(JSON.stringify([agentId, service]));
    const absent = newestOf(order.sets.filter(({ service, pending }) => !pending && !ofServices.has(service)));
    return { served: served.toSorted((a, b) => (a.service < b.service ? -1 : 1)), withheld, absent };
  }

  /** Each service's newest set that queries may use, connected or not. */
  async newest(agentId: string): Promise<SetIdentity[]> {
    const { sets } = await this.#deps.orders.read(agentId);
    return newestOf(sets.filter(({ pending }) => !pending));
  }

  /**
   * A service's channels under other sets than `own` that may serve what began under `own`: with `functionName`, those
   * on which a role that may call the function can do and see no more with it; else those that widen nothing at all.
   */
  async substitutes(
    agentId: string,
    channels: readonly RuntimeChannel[],
    own: { service: string; manifestHash: string },
    functionName?: string,
  ): Promise<RuntimeChannel[]> {
    const manifest = await this.#deps.manifests.get(agentId, own.manifestHash);
    if (!manifest) return [];
    const others = channels.filter(
      ({ identity }) => identity.service === own.service && identity.manifestHash !== own.manifestHash,
    );
    if (others.length === 0) return [];
    const order = await this.#orderFor(agentId, others);
    const found: RuntimeChannel[] = [];
    for (const channel of others) {
      const other = isUsable(channel.identity, order) ? await this.#deps.manifests.of(channel) : undefined;
      if (other && (await this.#fits(agentId, manifest, other, functionName))) found.push(channel);
    }
    return found;
  }

  async #fits(agentId: string, own: Manifest, other: Manifest, functionName: string | undefined): Promise<boolean> {
    const widened = await this.#between(agentId, own, other);
    if (functionName === undefined) return widened.length === 0;
    const of = ({ functions }: Manifest) => functions.find(({ name }) => name === functionName);
    const [before, after] = [of(own), of(other)];
    if (!before || !after) return false;
    // Such a runtime would run an interrupted call again without asking.
    if (before.reconciles && !after.reconciles) return false;
    // Such a runtime would not report that the handler runs, and would end it early.
    if (before.detached && !after.detached) return false;
    // The run decides by its own set whether a call is repeated.
    if (isRepeated(before) && !mayRepeat(after)) return false;
    const concerns = (one: Widening): boolean => one.functionName === undefined || one.functionName === functionName;
    return widened.every((one) => DECIDED.has(one.kind) || !concerns(one));
  }

  /** What `after` allows and `before` does not. */
  async #between(agentId: string, before: Manifest, after: Manifest): Promise<readonly Widening[]> {
    if (before === after) return [];
    const ofBefore = this.#widenings.get(before) ?? new WeakMap<Manifest, Promise<readonly Widening[]>>();
    this.#widenings.set(before, ofBefore);
    const found = ofBefore.get(after) ?? compareInTurn(agentId, wideningComparison(before, after));
    ofBefore.set(after, found);
    // May reject because too many comparisons wait; the next request then tries again.
    found.catch(() => ofBefore.delete(after));
    return found;
  }

  /**
   * An order that has a place for all channels. A set without a place was just registered, by this or another replica.
   */
  async #orderFor(agentId: string, channels: readonly RuntimeChannel[]): Promise<SetOrder> {
    const order = await this.#deps.orders.read(agentId);
    const isComplete = channels.every(({ identity }) => order.placeOf(identity));
    return isComplete ? order : this.#deps.orders.refresh(agentId);
  }

  /**
   * For one service: the newest set serves, or the next older connected one if it widens nothing against the newest.
   */
  async #serve(
    agentId: string,
    service: string,
    order: SetOrder,
    channels: readonly RuntimeChannel[],
  ): Promise<ServedSet | WithheldService | undefined> {
    const newest = lastOf(order.sets.filter((set) => set.service === service && !set.pending));
    const connected = channels.flatMap(({ identity }) => order.placeOf(identity) ?? []);
    const last = lastOf(connected);
    if (!last) return undefined;
    const withheld = (reason: string): WithheldService => ({ service, reason, awaited: newest });
    const next = lastOf(connected.filter(({ pending }) => !pending));
    if (!newest || !next) return withheld(`${describe(last)} widens access and waits for a confirmation`);
    const { manifestHash, deployment, place } = next;
    const [wanted, manifest] = await Promise.all([
      this.#deps.manifests.get(agentId, newest.manifestHash),
      this.#deps.manifests.get(agentId, manifestHash),
    ]);
    if (!wanted || !manifest) return withheld("the function sets cannot be read from the store");
    // The comparison sees one service, but a default role applies to functions in all the agent's services.
    const isOnly = order.sets.every((set) => set.service === service);
    const widened = await this.#between(agentId, wanted, manifest);
    const more = describeWidening(widened) ?? (isOnly ? undefined : newRole(wanted, manifest));
    if (more !== undefined)
      return withheld(`no runtime of ${describe(newest)} is connected, and ${describe(next)} ${more}`);
    return {
      service,
      deployment,
      place,
      manifest,
      manifestHash,
      isFallback: manifestHash !== newest.manifestHash,
      channels: channels.filter(({ identity }) => identity.manifestHash === manifestHash && isUsable(identity, order)),
    };
  }

  #logOnce(agentId: string, { service, reason }: WithheldService): void {
    const key = JSON.stringify([agentId, service]);
    if (this.#logged.get(key) === reason) return;
    this.#logged.set(key, reason);
    if (this.#logged.size > MAX_REASONS) this.#logged.delete(this.#logged.keys().next().value ?? key);
    this.#deps.log.warn("the functions of a service are withheld", { agentId, service, reason });
  }
}

/** Kinds of widening that concern whether a role may call a function at all, which a run decides by its own set. */
const DECIDED: ReadonlySet<string> = new Set(["roles", "function", "defaultRole"] satisfies Widening["kind"][]);

/** True for a function whose calls are delivered again after an unknown outcome or a failure. */
const isRepeated = (one: FunctionManifest): boolean => one.idempotent || (one.retries !== undefined && mayRepeat(one));

/** True for a function that may run twice for one call. */
const mayRepeat = ({ effect, idempotent }: FunctionManifest): boolean => idempotent || effect === "read";

function describeWidening([widening, ...more]: readonly Widening[]): string | undefined {
  if (!widening) return undefined;
  return `allows more: ${widening.text}${more.length === 0 ? "" : ` (and ${more.length} more)`}`;
}

function newRole(wanted: Manifest, { defaultRole }: Manifest): string | undefined {
  if (defaultRole === undefined || defaultRole === wanted.defaultRole) return undefined;
  const newest = wanted.defaultRole === undefined ? "has no default role" : `has ${wanted.defaultRole}`;
  return `has the default role ${defaultRole} where the newest set ${newest}`;
}

function isUsable(connection: ConnectionIdentity, order: SetOrder): boolean {
  const set = order.placeOf(connection);
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

/** Newest sets before older ones that replace them, then by registration. */
const bySeniority = (a: ServedSet, b: ServedSet): number =>
  Number(a.isFallback) - Number(b.isFallback) || a.place - b.place;

const describe = ({ deployment, named, service }: SetIdentity): string =>
  `${named ? `deployment ${deployment}` : `instance ${deployment}`} of ${service}`;
