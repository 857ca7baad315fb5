import { check } from "../checker.ts";
import { createClient, type Ending } from "../client.ts";
import { countBy, largest } from "../figures.ts";
import { holdCalls, until } from "../held-calls.ts";
import type { FunctionNote } from "../history.ts";
import type { Lab } from "../lab.ts";
import type { PlannedCall } from "../plan.ts";
import { type Scenario, together } from "./scenario.ts";

let rounds = 0;

/** Queries of each tenant, each of which calls one of the functions. Resolves with their ends. */
function callEach(lab: Lab, names: readonly PlannedCall["name"][], options: { queries: number; ms: number }) {
  const round = `called.${++rounds}`;
  const endings = lab.tenants.flatMap((tenant) => {
    const ask = createClient({ tenant, lab });
    return Array.from({ length: options.queries }, (_, index) => {
      const id = `${tenant.name}.${round}.${index}`;
      const name = names[index % names.length]!;
      return ask({ plan: { id, turns: [[{ name, id, ms: options.ms }]] }, mode: "json" });
    });
  });
  const notes = (): FunctionNote[] => lab.functionNotes().filter(({ id }) => id.includes(`.${round}.`));
  return { endings: Promise.all(endings), notes };
}

const begins = (notes: readonly FunctionNote[], name: string) =>
  notes.filter((one) => one.phase === "begin" && one.name === name);

/** Starts of the handler for each piece of work. */
const startsOf = (notes: readonly FunctionNote[], name: string): number[] =>
  Object.values(countBy(begins(notes, name), ({ id }) => id));

export const retriedCalls: Scenario = {
  name: "retried-calls",
  promise:
    "A function with retries starts at most its number of handlers, and a write one, over killed runtimes and replicas.",
  lab: { replicas: 2 },
  async run(lab, { rate, dice }) {
    const called = callEach(lab, ["flaky_read", "flaky_charge"], { queries: Math.round(rate), ms: 300 });
    await until(() => begins(called.notes(), "flaky_read").length > 0, "a call runs", 30_000 * lab.patience);
    let kills = 0;
    for (const kind of ["runtime", "replica", "runtime"]) {
      const killed = kind === "replica" ? [dice.pick(lab.replicas)] : lab.tenants.map((one) => dice.pick(one.runtimes));
      await Promise.all(killed.map((one) => one.kill()));
      await Promise.all(killed.map((one) => one.start()));
      kills += killed.length;
    }
    const endings = await called.endings;
    const terms = { succeeded: endings.length, failedShare: 1, unknownShare: 1 };
    const found = await check(lab, { endings, ...terms });
    const [reads, writes] = [startsOf(called.notes(), "flaky_read"), startsOf(called.notes(), "flaky_charge")];
    return together(
      found,
      { kills, mostStarts: largest(reads), mostOfWrites: largest(writes) },
      {
        "calls were tried again": largest(reads) > 1,
        "at most three starts of a function with three attempts": largest(reads) <= 3,
        "one start of a write": largest(writes) === 1,
      },
    );
  },
};

export const reconciledCalls: Scenario = {
  name: "reconciled-calls",
  promise: "After a kill, the owner's code is asked once what an interrupted call did, and decides what follows.",
  lab: { replicas: 2 },
  async run(lab, { rate }) {
    const names = ["charged", "uncharged", "unclear_charge"] as const;
    const groups = lab.tenants.flatMap((tenant) =>
      names.map((name) => ({ name, held: holdCalls(lab, tenant, { queries: Math.round(rate), calls: 1, name }) })),
    );
    await Promise.all(groups.map(({ held }) => held.running()));
    const killed = lab.tenants.flatMap(({ runtimes }) => runtimes);
    await Promise.all(killed.map((runtime) => runtime.kill()));
    await Promise.all(groups.map(({ held }) => held.release()));
    await Promise.all(killed.map((runtime) => runtime.start()));
    const ended = await Promise.all(
      groups.map(async ({ name, held }) => ({ name, endings: await held.endings, held })),
    );
    const endings = ended.flatMap((one) => one.endings);
    const found = await check(lab, { endings, succeeded: endings.length, unknownShare: 1 });
    const asked = Object.values(
      countBy(
        lab.functionNotes().filter(({ phase }) => phase === "reconcile"),
        ({ callId }) => callId,
      ),
    );
    const of = (name: (typeof names)[number]) => {
      const mine = ended.filter((one) => one.name === name);
      const notes = mine.flatMap(({ held }) => held.begun());
      return { ends: mine.flatMap((one) => one.endings.map(codeOf)), starts: startsOf(notes, name) };
    };
    const all = (values: readonly unknown[], value: unknown) =>
      values.length > 0 && values.every((one) => one === value);
    return together(
      found,
      { kills: killed.length, asked: asked.length },
      {
        "each interrupted call was asked about once": asked.length === endings.length && all(asked, 1),
        "a call that took effect has its result and ran once":
          all(of("charged").ends, "ok") && all(of("charged").starts, 1),
        "one that did not took effect later": all(of("uncharged").ends, "ok") && all(of("uncharged").starts, 2),
        "one of which nothing is known is reported and ran once":
          all(of("unclear_charge").ends, "outcome_unknown") && all(of("unclear_charge").starts, 1),
      },
    );
  },
};

const codeOf = ({ result }: Ending): string | undefined => {
  const [call] = result?.toolInteractions ?? [];
  return call?.success ? "ok" : call?.code;
};

/** `concurrency` of `limited_charge`. */
const LIMIT = 3;

export const limitedCalls: Scenario = {
  name: "limited-calls",
  promise: "Never more handlers of a function run than its concurrency, over replicas, runtimes and their reconnects.",
  lab: { replicas: 2 },
  async run(lab, { rate }) {
    const called = callEach(lab, ["limited_charge"], { queries: Math.round(rate), ms: 250 });
    let [kills, isOver] = [0, false];
    void called.endings.then(() => (isOver = true));
    for (const replica of lab.replicas.slice(0, 2)) {
      const before = called.notes().length;
      await until(() => isOver || called.notes().length > before + 2 * LIMIT, "calls run", 60_000);
      await replica.kill();
      await replica.start();
      kills++;
    }
    const endings = await called.endings;
    const found = await check(lab, { endings, succeeded: endings.length, unknownShare: 0.05 });
    const most = lab.tenants.map(({ name }) => mostAtOnce(called.notes().filter(({ tenant }) => tenant === name)));
    return together(
      found,
      { kills, mostAtOnce: largest(most) },
      {
        "no more handlers than allowed": largest(most) <= LIMIT,
        "as many as allowed": largest(most) === LIMIT,
        "each call ran once": largest(startsOf(called.notes(), "limited_charge")) === 1,
      },
    );
  },
};

/** The most handlers that ran at the same time. A permit is free after the end of its handler is written. */
function mostAtOnce(notes: readonly FunctionNote[]): number {
  const inOrder = notes.toSorted((a, b) => a.at - b.at || Number(a.phase === "begin") - Number(b.phase === "begin"));
  let running = 0;
  return Math.max(0, ...inOrder.map(({ phase }) => (running += phase === "begin" ? 1 : -1)));
}
