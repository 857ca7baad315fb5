import { LIMITS, type OperatorLimits } from "@patchbay/protocol";
import type { ServiceSet } from "../ports/function-gateway.ts";
import { rolesOf, sizeBytesOf } from "./manifest.ts";
import { REASON_BYTES, shorten } from "./shorten.ts";

/** Bytes of a service's name in a reason: both names fit into it, and the start of what the services share. */
const NAME_BYTES = 30;

/** Services of one agent whose functions can be combined: no two clash, and together they keep to the limits of a function set. */
export class Compatible {
  readonly #limits: OperatorLimits;
  readonly #services = new Set<string>();
  /** Services by the names of their functions. */
  readonly #owners = new Map<string, string>();
  readonly #roles = new Set<string>();
  #sizeBytes = 0;
  #defaultRole: { role: string; service: string } | undefined;

  constructor(limits: OperatorLimits, services: readonly ServiceSet[] = []) {
    this.#limits = limits;
    for (const one of services) this.#take(one);
  }

  /** Adds a service, or says in the 120 bytes of a close reason why it cannot be combined with the others. */
  add(one: ServiceSet): string | undefined {
    const reason = this.#clash(one) ?? this.#excess(one);
    if (reason === undefined) this.#take(one);
    return reason;
  }

  #take({ service, manifest }: ServiceSet): void {
    this.#services.add(service);
    for (const { name } of manifest.functions) this.#owners.set(name, service);
    for (const role of rolesOf(manifest)) this.#roles.add(role);
    this.#sizeBytes += sizeBytesOf(manifest);
    if (manifest.defaultRole !== undefined) this.#defaultRole ??= { role: manifest.defaultRole, service };
  }

  #clash({ service, manifest }: ServiceSet): string | undefined {
    const both = (other: string): string =>
      `services ${shorten(other, NAME_BYTES)} and ${shorten(service, NAME_BYTES)}`;
    for (const { name } of manifest.functions) {
      const owner = this.#owners.get(name);
      if (owner !== undefined) return within((room) => `${both(owner)} both have ${shorten(name, room)}`);
    }
    const theirs = this.#defaultRole;
    const own = manifest.defaultRole;
    if (!theirs || own === undefined || own === theirs.role) return undefined;
    const [first, second] = [theirs.role, own];
    return within((room) => {
      const half = Math.floor(room / 2);
      return `${both(theirs.service)} differ in defaultRole: ${shorten(first, half)} and ${shorten(second, half)}`;
    });
  }

  #excess({ service, manifest }: ServiceSet): string | undefined {
    const { functionsPerService } = LIMITS;
    const { rolesPerService, manifestBytes } = this.#limits;
    const [functions, roles, sizeBytes] = [manifest.functions.length, rolesOf(manifest), sizeBytesOf(manifest)];
    const refuse = (own: string, others: number, limit: string): string =>
      within((room) => {
        const name = shorten(service, room);
        return `${own} of service ${name} and ${others} of the others exceed ${limit}. Use another agent.`;
      });
    if (this.#services.size >= functionsPerService)
      return within((room) => {
        const limit = `the limit of ${functionsPerService}`;
        return `service ${shorten(service, room)} and ${this.#services.size} others exceed ${limit}. Use another agent.`;
      });
    if (this.#owners.size + functions > functionsPerService)
      return refuse(`${functions} functions`, this.#owners.size, `the limit of ${functionsPerService}`);
    if (this.#roles.union(roles).size > rolesPerService)
      return refuse(`${roles.size} roles`, this.#roles.size, `rolesPerService (${rolesPerService})`);
    if (this.#sizeBytes + sizeBytes > manifestBytes)
      return refuse(`${sizeBytes} bytes`, this.#sizeBytes, `manifestBytes (${manifestBytes})`);
    return undefined;
  }
}

/** A sentence whose names are shortened to the bytes that the rest of it leaves of a close reason. */
const within = (sentence: (room: number) => string): string =>
  sentence(REASON_BYTES - Buffer.byteLength(sentence(3)) + 3);
