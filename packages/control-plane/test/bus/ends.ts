import type { JsonValue } from "@patchbay/protocol";
import type { Bus } from "../../src/ports/bus.ts";

/** Two ends of one bus: the same object for those who are in one process, two for replicas. */
export interface Ends extends AsyncDisposable {
  here: Bus;
  there: Bus;
  /** Resolves when what either end has subscribed counts, and what either has published has arrived. */
  settle(): Promise<void>;
}

export type MakeEnds = () => Promise<Ends>;

/** Both ends in one bus. */
export function oneBus(bus: Bus): Ends {
  return { here: bus, there: bus, settle: async () => {}, [Symbol.asyncDispose]: () => bus.close() };
}

/** Collects what is published on a subject. */
export function heardOn(bus: Bus, subject: string): Disposable & { bodies: JsonValue[] } {
  const bodies: JsonValue[] = [];
  const subscription = bus.subscribe(subject, (body) => void bodies.push(body));
  return { bodies, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}
