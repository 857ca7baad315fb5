import { LIMITS, type Manifest, type OperatorLimits, rolesOf } from "@patchbay/protocol";
import type { ServiceSet } from "@patchbay/engine/ports/function-gateway";
import { REASON_BYTES, shorten } from "../frames.ts";

/**
 * The first fault that a function set's schema does not find, in the 120 bytes of a close reason; undefined without
 * one.
 */
export function manifestFault(manifest: Manifest, limits: OperatorLimits): string | undefined {
  const { functions } = manifest;
  const names = new Set<string>();
  for (const { name, inputSchema } of functions) {
    if (names.has(name)) return `two functions are named ${name}`;
    names.add(name);
    if (Buffer.byteLength(JSON.stringify(inputSchema)) > LIMITS.schemaBytes)
      return `the schema of ${name} has over ${LIMITS.schemaBytes} bytes`;
  }
  return roleFault(manifest, limits) ?? sizeFault(manifest, limits);
}

function roleFault(manifest: Manifest, limits: OperatorLimits): string | undefined {
  for (const { name, roles } of manifest.functions)
    if (roles !== "everyone" && roles.length > limits.rolesPerFunction)
      return `${roles.length} roles of ${name} exceed rolesPerFunction (${limits.rolesPerFunction}). Use authorize().`;
  const { size } = rolesOf(manifest);
  if (size <= limits.rolesPerService) return undefined;
  return `${size} roles exceed rolesPerService (${limits.rolesPerService}). Use fewer roles, and authorize().`;
}

function sizeFault(manifest: Manifest, { manifestBytes }: OperatorLimits): string | undefined {
  const sizeBytes = sizeBytesOf(manifest);
  if (sizeBytes <= manifestBytes) return undefined;
  return `${sizeBytes} bytes exceed manifestBytes (${manifestBytes}). Shorten texts, or split the service.`;
}

const sizes = new WeakMap<Manifest, number>();

/** A function set's size as JSON. Measured once, because every query needs it. */
export function sizeBytesOf(manifest: Manifest): number {
  let sizeBytes = sizes.get(manifest);
  if (sizeBytes === undefined) {
    sizeBytes = Buffer.byteLength(JSON.stringify(manifest));
    sizes.set(manifest, sizeBytes);
  }
  return sizeBytes;
}

/** Bytes for a service's name in a reason, so that both names and the start of the shared function's name fit. */
const NAME_BYTES = 30;

/**
 * An agent's services that can be combined: their functions and default roles do not clash, and together they are
 * within the limits for one function set.
 */
export class CompatibleServices {
  readonly #limits: OperatorLimits;
  readonly #services = new Set<string>();
  /** Services by function name. */
  readonly #owners = new Map<string, string>();
  readonly #roles = new Set<string>();
  #sizeBytes = 0;
  #defaultRole: { role: string; service: string } | undefined;

  constructor(limits: OperatorLimits, services: readonly ServiceSet[] = []) {
    this.#limits = limits;
    for (const one of services) this.#include(one);
  }

  /** Adds a service, or returns why it cannot be combined with the others, in the 120 bytes of a close reason. */
  add(one: ServiceSet): string | undefined {
    const reason = this.#clash(one) ?? this.#excess(one);
    if (reason === undefined) this.#include(one);
    return reason;
  }

  #include({ service, manifest }: ServiceSet): void {
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
      if (owner !== undefined) return fitReason((room) => `${both(owner)} both have ${shorten(name, room)}`);
    }
    const other = this.#defaultRole;
    const own = manifest.defaultRole;
    if (!other || own === undefined || own === other.role) return undefined;
    return fitReason((room) => {
      const half = Math.floor(room / 2);
      return `${both(other.service)} differ in defaultRole: ${shorten(other.role, half)} and ${shorten(own, half)}`;
    });
  }

  #excess({ service, manifest }: ServiceSet): string | undefined {
    const { functionsPerService } = LIMITS;
    const { rolesPerService, manifestBytes } = this.#limits;
    const [functions, roles, sizeBytes] = [manifest.functions.length, rolesOf(manifest), sizeBytesOf(manifest)];
    const refuse = (own: string, others: number, limit: string): string =>
      fitReason((room) => {
        const name = shorten(service, room);
        return `${own} of service ${name} and ${others} of the others exceed ${limit}. Use another agent.`;
      });
    if (this.#services.size >= functionsPerService)
      return fitReason((room) => {
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

/** A sentence whose names are shortened until it fits into a close reason. */
const fitReason = (sentence: (room: number) => string): string =>
  sentence(REASON_BYTES - Buffer.byteLength(sentence(3)) + 3);
