import { type Bus, NoResponders, RequestLost } from "@patchbay/engine/ports/bus";
import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import type { JsonValue } from "@patchbay/kit";
import type { Process, World } from "@patchbay/test-support/world";

/** What the network between the replicas does to a message. */
export interface BusWeather {
  loss: number;
  duplication: number;
  /** Longest delay in milliseconds. Messages overtake each other within it. */
  delayMs: number;
}

/** The latest that a message arrives which was given up: a connection of the bus kept it while it was broken. */
const LATE_MS = 20_000;

interface Member {
  process: Process;
  local: Bus;
  /** The subjects that it answers, with the number of servers. */
  serves: Map<string, number>;
  isApart: boolean;
}

/** A bus between replicas that delays, loses, duplicates and reorders messages, and partitions replicas. */
export function createSimulatedBus(world: World, weather: BusWeather) {
  const members = new Set<Member>();
  const reach = (from: Member, to: Member): boolean => to.process.alive && !from.isApart && !to.isApart;
  const copy = (body: JsonValue): JsonValue => JSON.parse(JSON.stringify(body)) as JsonValue;

  /** Runs `receive` at the other member, possibly late, twice or never. */
  function carry(from: Member, to: Member, receive: () => void): void {
    const { random } = world;
    const arrivesIn = (ms: number): void => world.after(ms, to.process, () => reach(from, to) && receive());
    if (random.chance(weather.loss)) {
      // Half of the messages that nothing waits for any more arrive all the same.
      if (random.chance(0.5)) arrivesIn(random.between(1_000, LATE_MS));
      return;
    }
    arrivesIn(random.between(0.1, weather.delayMs));
    if (random.chance(weather.duplication)) arrivesIn(random.between(0.1, weather.delayMs));
  }

  function join(process: Process): Bus {
    const member: Member = { process, local: createMemoryBus(), serves: new Map(), isApart: false };
    members.add(member);
    process.onKill(() => members.delete(member));
    const others = (): Member[] => [...members].filter((other) => other !== member && reach(member, other));
    return {
      ...member.local,
      get healthy() {
        return !member.isApart;
      },
      reached: true,
      reaches: (subject) => member.local.reaches(subject) || others().length > 0,
      publish(subject, body) {
        if (!process.alive) return;
        for (const other of others()) carry(member, other, () => other.local.publish(subject, copy(body)));
        member.local.publish(subject, body);
      },
      serve(subject, answer) {
        member.serves.set(subject, (member.serves.get(subject) ?? 0) + 1);
        const served = member.local.serve(subject, answer);
        return {
          [Symbol.dispose]() {
            served[Symbol.dispose]();
            const left = member.serves.get(subject)! - 1;
            if (left === 0) member.serves.delete(subject);
            else member.serves.set(subject, left);
          },
        };
      },
      async request(subject, body, options) {
        if (member.serves.has(subject)) return member.local.request(subject, body, options);
        options.signal?.throwIfAborted();
        const servers = others().filter(({ serves }) => serves.has(subject));
        if (servers.length === 0) throw new NoResponders(`no server for ${subject}`);
        return await ask(member, world.random.pick(servers), { subject, body, ...options });
      },
    };
  }

  interface Asked {
    subject: string;
    body: JsonValue;
    timeoutMs: number;
    signal?: AbortSignal;
  }

  function ask(from: Member, to: Member, { subject, body, timeoutMs, signal }: Asked): Promise<JsonValue> {
    const { promise, resolve, reject } = Promise.withResolvers<JsonValue>();
    world.after(timeoutMs, from.process, () => reject(new RequestLost(`no answer within ${timeoutMs} ms`)));
    signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    carry(from, to, () => {
      to.local.request(subject, copy(body), { timeoutMs }).then(
        (answer) => carry(to, from, () => resolve(copy(answer))),
        () => carry(to, from, () => reject(new RequestLost(`the server of ${subject} failed`))),
      );
    });
    return promise;
  }

  return {
    join,
    /** Separates a random replica from the others for `ms`. */
    partition(ms: number): void {
      const member = world.random.pick([...members]);
      if (!member) return;
      member.isApart = true;
      world.after(ms, world.machine, () => (member.isApart = false));
    },
  };
}
