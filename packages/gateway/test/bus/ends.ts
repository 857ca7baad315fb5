import type { JsonValue } from "@patchbay/kit";
import type { Bus } from "@patchbay/engine/ports/bus";

/** Two ends of one bus: the same object in one process, two objects for two replicas. */
export interface Ends extends AsyncDisposable {
  here: Bus;
  there: Bus;
  /** Resolves when the subscriptions of both ends are active and everything that they published has arrived. */
  settle(): Promise<void>;
}

export type MakeEnds = () => Promise<Ends>;

/** One bus as both ends. */
export function oneBus(bus: Bus): Ends {
  return { here: bus, there: bus, settle: async () => {}, [Symbol.asyncDispose]: () => bus.close() };
}

/** Collects what is published on a subject. */
export function collectFrom(bus: Bus, subject: string): Disposable & { bodies: JsonValue[] } {
  const bodies: JsonValue[] = [];
  const subscription = bus.subscribe(subject, (body) => void bodies.push(body));
  return { bodies, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}
