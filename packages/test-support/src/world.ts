import { AsyncLocalStorage } from "node:async_hooks";
import { inspect } from "node:util";
import type { Log, LogFields, LogLevel } from "@patchbay/kit";
import { replaceTime, type TimeSource } from "@patchbay/kit/time";
import { createRandom, type Random } from "./random.ts";

/** Wall time at the start: 1 March 2026. */
const EPOCH_MS = Date.UTC(2026, 2, 1);

/** A machine's clock. */
export interface Clock {
  /** Milliseconds by which its wall time differs from the world's. */
  offsetMs: number;
  /** Its seconds per second of the world. */
  rate: number;
}

/** A process of the simulation: a replica, a runtime, a client, or the machine with the database. */
export class Process {
  readonly name: string;
  alive = true;
  /** Nothing happens in the process before this time. */
  frozenUntil = 0;
  /** Its machine's clock: processes of one machine share it. */
  clock: Clock = { offsetMs: 0, rate: 1 };
  readonly #ends: (() => void)[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** Called once when the process is killed. */
  onKill(end: () => void): void {
    this.#ends.push(end);
  }

  /** A freeze does not shorten another one. */
  freeze(untilMs: number): void {
    this.frozenUntil = Math.max(this.frozenUntil, untilMs);
  }

  kill(): void {
    if (!this.alive) return;
    this.alive = false;
    for (const end of this.#ends) end();
  }
}

interface Event {
  at: number;
  /** Orders events of the same time. */
  order: number;
  process: Process;
  run: () => void;
  /** False once a timer was cleared. */
  wanted: boolean;
}

/** A timer's handle. `unref` has no effect: a simulated process does not end by itself. */
interface Timer {
  event: Event;
  unref(): Timer;
  refresh(): Timer;
}

/** A promise that stays pending, as work in a process that was killed. */
export const forever = <T>(): Promise<T> => new Promise<T>(() => {});

/**
 * Simulated time, and the processes that live in it, in one thread. Events happen one after the other in the order of their times;
 * between two of them, all promises settle.
 */
export class World {
  readonly random: Random;
  /** Apart: processes keep random bytes in stock, which the next simulation of the thread uses up. */
  readonly #ids: Random;
  /** The machine on which the store is: never killed or frozen. */
  readonly machine = new Process("machine");
  /** Milliseconds since the start. */
  now = 0;
  /** How many events have happened. */
  steps = 0;
  /** Work outside the world's time, such as a query of a real database, that must end before the next event. */
  outside = 0;
  /** What the product logged as an error. */
  readonly errors: { message: string; cause: unknown }[] = [];
  readonly #context = new AsyncLocalStorage<Process>();
  readonly #events = new Heap();
  #order = 0;
  #hash = 0x811c9dc5;
  #trace: string[] | undefined;

  constructor(seed: number, { traced = false } = {}) {
    this.random = createRandom(seed, 7);
    this.#ids = createRandom(seed, 8);
    if (traced) this.#trace = [];
  }

  /** The process that runs now. */
  get process(): Process {
    return this.#context.getStore() ?? this.machine;
  }

  /** A number that two runs of a seed have in common if they did the same. */
  get hash(): string {
    return (this.#hash >>> 0).toString(16).padStart(8, "0");
  }

  /** Every noted step; empty unless the world was created with `traced`. */
  get trace(): readonly string[] {
    return this.#trace ?? [];
  }

  wallMs(process = this.process): number {
    return Math.floor(EPOCH_MS + this.now * process.clock.rate + process.clock.offsetMs);
  }

  /** Adds a step to the trace and its hash. Ids differ between runs of a seed, so `what` has none. */
  note(what: string, process = this.process): void {
    const line = `${this.now.toFixed(3)} ${process.name} ${what}`;
    for (let i = 0; i < line.length; i++) this.#hash = Math.imul(this.#hash ^ line.charCodeAt(i), 0x01000193);
    this.#trace?.push(line);
  }

  /** What the product logs, as steps of the trace with their errors. Not in the hash: texts have ids. */
  log(process: Process): Log {
    const note =
      (level: LogLevel) =>
      (message: string, fields?: LogFields): void =>
        void this.#trace?.push(`${this.now.toFixed(3)} ${process.name} ${level} ${message} ${inspect(fields)}`);
    return {
      debug: () => {},
      info: note("info"),
      warn: note("warn"),
      error: (message, fields) => {
        this.errors.push({ message, cause: fields?.["cause"] });
        note("error")(message, fields);
      },
      child: () => this.log(process),
    };
  }

  /** Runs `work` as the process. */
  in<T>(process: Process, work: () => T): T {
    return this.#context.run(process, work);
  }

  /** Runs `then` in the process after `ms`, unless the process is killed before. */
  after(ms: number, process: Process, then: () => void): void {
    this.#add(ms, process, () => process.alive && then());
  }

  /** Resolves after `ms` in the process that runs now; never if it is killed before. */
  pass(ms: number): Promise<void> {
    const { process } = this;
    return new Promise((resolve) => this.after(ms, process, resolve));
  }

  #add(ms: number, process: Process, run: () => void): Event {
    const event = { at: this.now + Math.max(0, ms), order: this.#order++, process, run, wanted: true };
    this.#events.push(event);
    return event;
  }

  /** Lets events happen until `done` returns true, or no event is left, or the time is over. Returns whether it is done. */
  async run(done: () => boolean, untilMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    for (;;) {
      await this.#settle();
      if (done()) return true;
      const event = this.#events.pop();
      if (!event) return false;
      if (event.at > untilMs) {
        this.#events.push(event);
        this.now = untilMs;
        return false;
      }
      if (!event.wanted) continue;
      const { process } = event;
      if (process.frozenUntil > event.at && process.alive) {
        event.at = process.frozenUntil;
        this.#events.push(event);
        continue;
      }
      this.now = event.at;
      this.steps++;
      this.in(process, event.run);
    }
  }

  async #settle(): Promise<void> {
    do await new Promise<void>((resolve) => void setImmediate(resolve));
    while (this.outside > 0);
  }

  /** Replaces this Node.js process's time until disposed. */
  install(): Disposable {
    /** Arms a timer of the process that runs now. */
    const arm = (callback: () => void, ms: number, repeats: boolean): NodeJS.Timeout => {
      const { process } = this;
      const begin = (): Event =>
        this.#add(ms / process.clock.rate, process, () => {
          if (repeats && !process.alive) return;
          if (repeats) timer.event = begin();
          callback();
        });
      const timer: Timer = {
        event: begin(),
        unref: () => timer,
        refresh() {
          timer.event.wanted = false;
          timer.event = begin();
          return timer;
        },
      };
      return timer as unknown as NodeJS.Timeout;
    };
    const source: TimeSource = {
      wallMs: () => this.wallMs(),
      monotonicMs: () => this.now * this.process.clock.rate,
      // Also in a killed process, where nothing outside notices: others may wait in a queue that all processes of this thread share.
      setTimeout: (callback, ms) => arm(callback, ms, false),
      setInterval: (callback, ms) => arm(callback, Math.max(1, ms), true),
      // A queue of the thread, so that a frozen process does not hold up the others in it.
      setImmediate: (callback) => {
        const { process } = this;
        void this.#add(0, this.machine, () => this.in(process, callback));
      },
      clear: (given) => {
        const handle = given as unknown as Partial<Timer> | undefined;
        if (handle?.event) handle.event.wanted = false;
        // It was set before the replacement.
        else globalThis.clearTimeout(given);
      },
      timeoutSignal: (ms) => {
        const controller = new AbortController();
        this.#add(ms / this.process.clock.rate, this.process, () =>
          controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")),
        );
        return controller.signal;
      },
      randomFraction: () => this.random.fraction(),
      randomBytes: (bytes) => {
        for (let i = 0; i < bytes.length; i++) bytes[i] = this.#ids.below(256);
      },
      randomUUID: () => uuid(this.#ids),
    };
    return replaceTime(source);
  }
}

function uuid(random: Random): string {
  const digits = Array.from({ length: 32 }, () => random.below(16).toString(16)).join("");
  return digits.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5");
}

/** A binary heap of events, the earliest first. */
class Heap {
  readonly #events: Event[] = [];

  push(event: Event): void {
    const events = this.#events;
    let at = events.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, events[parent]!)) break;
      events[at] = events[parent]!;
      at = parent;
    }
    events[at] = event;
  }

  pop(): Event | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (!first || !last || events.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= events.length) break;
      if (child + 1 < events.length && isBefore(events[child + 1]!, events[child]!)) child++;
      if (!isBefore(events[child]!, last)) break;
      events[at] = events[child]!;
      at = child;
    }
    events[at] = last;
    return first;
  }
}

const isBefore = (a: Event, b: Event): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
