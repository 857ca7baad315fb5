import { BLOCKED, EXPORTERS, MOST_REFUND } from "./limits.ts";
import { ownerOf, teamOf } from "./records.ts";

export interface Caller {
  userId?: string | undefined;
  team?: string | undefined;
}

export const isOwn = (order: string, { userId }: Caller): boolean => userId !== undefined && ownerOf(order) === userId;

export function isSameTeam(order: string, { userId }: Caller): boolean {
  const team = teamOf(ownerOf(order));
  return team !== undefined && team === teamOf(userId);
}

export const isWithin = (amount: number): boolean => amount > 0 && amount <= MOST_REFUND;

export function isBlocked({ userId }: Caller): boolean {
  return userId !== undefined && BLOCKED.includes(userId);
}

export class ExportPolicy {
  readonly #days: number;

  constructor(days: number) {
    this.#days = days;
  }

  allows(days: number, { userId }: Caller): boolean {
    if (days > this.#days) return false;
    return userId !== undefined && EXPORTERS[userId] === true;
  }
}

export function createAddressRule(countries: readonly string[]) {
  return ({ role, context, input }: { role: string | undefined; context: Caller; input: Address }): boolean => {
    if (role === "boss") return true;
    if (!countries.includes(input.address.country)) return false;
    return isOwn(input.order, context);
  };
}

interface Address {
  order: string;
  address: { country: string };
}
