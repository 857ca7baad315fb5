import { LIMITS, type Manifest, type OperatorLimits, rolesOf } from "@patchbay/protocol";
import { oncePer } from "@patchbay/kit";
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
  for (const [role, { includes = [] }] of Object.entries(manifest.roleOptions ?? {}))
    if (includes.length > limits.rolesPerService)
      return `${includes.length} roles in ${shorten(role, NAME_BYTES)} exceed rolesPerService (${limits.rolesPerService}).`;
  const { size } = rolesOf(manifest);
  if (size <= limits.rolesPerService) return undefined;
  return `${size} roles exceed rolesPerService (${limits.rolesPerService}). Use fewer roles, and authorize().`;
}

function sizeFault(manifest: Manifest, { manifestBytes }: OperatorLimits): string | undefined {
  const sizeBytes = sizeBytesOf(manifest);
  if (sizeBytes <= manifestBytes) return undefined;
  return `${sizeBytes} bytes exceed manifestBytes (${manifestBytes}). Shorten texts, or split the service.`;
}

/** A function set's size as JSON. Measured once, because every query needs it. */
const sizeBytesOf = oncePer((manifest: Manifest): number => Buffer.byteLength(JSON.stringify(manifest)));

/** Bytes for a service's name in a reason, so that both names and the start of the shared function's name fit. */
const NAME_BYTES = 30;

/**
 * An agent's services that can be combined: their functions and default roles do not clash, and together they are
 * within the limits for one function set.
 */
export function createCompatibleServices(limits: OperatorLimits, known: readonly ServiceSet[] = []) {
  const services = new Set<string>();
  /** Services by function name. */
  const owners = new Map<string, string>();
  const roles = new Set<string>();
  let sizeBytes = 0;
  let defaultRole: { role: string; service: string } | undefined;

  function include({ service, manifest }: ServiceSet): void {
    services.add(service);
    for (const { name } of manifest.functions) owners.set(name, service);
    for (const role of rolesOf(manifest)) roles.add(role);
    sizeBytes += sizeBytesOf(manifest);
    if (manifest.defaultRole !== undefined) defaultRole ??= { role: manifest.defaultRole, service };
  }

  function clash({ service, manifest }: ServiceSet): string | undefined {
    const both = (other: string): string =>
      `services ${shorten(other, NAME_BYTES)} and ${shorten(service, NAME_BYTES)}`;
    for (const { name } of manifest.functions) {
      const owner = owners.get(name);
      if (owner !== undefined) return fitReason((room) => `${both(owner)} both have ${shorten(name, room)}`);
    }
    const other = defaultRole;
    const own = manifest.defaultRole;
    if (!other || own === undefined || own === other.role) return undefined;
    return fitReason((room) => {
      const half = Math.floor(room / 2);
      return `${both(other.service)} differ in defaultRole: ${shorten(other.role, half)} and ${shorten(own, half)}`;
    });
  }

  function excess({ service, manifest }: ServiceSet): string | undefined {
    const { functionsPerService } = LIMITS;
    const { rolesPerService, manifestBytes } = limits;
    const [functions, own, ownBytes] = [manifest.functions.length, rolesOf(manifest), sizeBytesOf(manifest)];
    const refuse = (what: string, others: number, limit: string): string =>
      fitReason((room) => {
        const name = shorten(service, room);
        return `${what} of service ${name} and ${others} of the others exceed ${limit}. Use another agent.`;
      });
    if (services.size >= functionsPerService)
      return fitReason((room) => {
        const limit = `the limit of ${functionsPerService}`;
        return `service ${shorten(service, room)} and ${services.size} others exceed ${limit}. Use another agent.`;
      });
    if (owners.size + functions > functionsPerService)
      return refuse(`${functions} functions`, owners.size, `the limit of ${functionsPerService}`);
    if (roles.union(own).size > rolesPerService)
      return refuse(`${own.size} roles`, roles.size, `rolesPerService (${rolesPerService})`);
    if (sizeBytes + ownBytes > manifestBytes)
      return refuse(`${ownBytes} bytes`, sizeBytes, `manifestBytes (${manifestBytes})`);
    return undefined;
  }

  for (const one of known) include(one);
  return {
    /** Adds a service, or returns why it cannot be combined with the others, in the 120 bytes of a close reason. */
    add(one: ServiceSet): string | undefined {
      const reason = clash(one) ?? excess(one);
      if (reason === undefined) include(one);
      return reason;
    },
  };
}

/** A sentence whose names are shortened until it fits into a close reason. */
const fitReason = (sentence: (room: number) => string): string =>
  sentence(REASON_BYTES - Buffer.byteLength(sentence(3)) + 3);
