import { createAdmin } from "../../src/accounts/admin.ts";
import { openStore } from "@patchbay/store/open";
import { HandClock } from "../../../store/test/contract/world.ts";

/** A clock of which no two readings are equal, so that lists have one order. */
export class TickingClock extends HandClock {
  override time = Date.now();
  override now(): number {
    return this.time++;
  }
}

export async function openOffice(clock = new TickingClock()) {
  const store = await openStore("sqlite::memory:", { clock });
  return { store, admin: createAdmin({ store }), [Symbol.asyncDispose]: () => store.close() };
}
