import { expect, test, vi } from "vitest";
import { printFigure } from "../support/figure.ts";
import type { Script } from "../support/providers/index.ts";
import { startDesk } from "./start.ts";

vi.setConfig({ testTimeout: 60_000 });

const ROUNDS = 10;
const AT_ONCE = 20;

/** One call that waits for the test, then an answer that names the query. */
const script: Script = ({ step, query }) =>
  step === 0 ? { calls: [{ name: "wait", arguments: { id: query } }] } : { text: `Answer to ${query}.` };

test("20 queries at once on one thread: one runs, four wait in order, the rest is refused, and the history stays whole", async () => {
  await using system = await startDesk(script);
  system.desk.letGo("begin");
  const { threadId } = await system.query("begin");
  let answered = 0;
  let refused = 0;

  for (let round = 0; round < ROUNDS; round++) {
    system.desk.handled.length = 0;
    const queries = Array.from({ length: AT_ONCE }, (_, index) => `r${round}q${index}`);
    let told = 0;
    const ask = async (query: string) => {
      const answer = await system.query(query, { threadId });
      // Those that may run or wait are known when the rest was refused; they run to their end then.
      if (++told === AT_ONCE - 5) for (const one of queries) system.desk.letGo(one);
      return { query, ...answer };
    };
    const answers = await Promise.all(queries.map(ask));

    const succeeded = answers.filter(({ success }) => success);
    const busy = answers.filter(({ success }) => !success);
    for (const answer of succeeded) expect(answer.response).toBe(`Answer to ${answer.query}.`);
    expect(new Set(busy.map(({ code }) => code))).toEqual(new Set(["thread_busy"]));
    expect(succeeded).toHaveLength(5);
    answered += succeeded.length;
    refused += busy.length;

    // They ran one after another, in the order in which they were taken.
    const runs = await system.plane.store.runs.list(system.agentId, { limit: 5 + AT_ONCE });
    const taken = runs.filter(({ request }) => succeeded.some(({ query }) => query === request.query));
    const inOrder = taken.toSorted((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0));
    expect(system.desk.handled.map(({ input }) => input["id"])).toEqual(inOrder.map(({ request }) => request.query));
    for (const [index, run] of inOrder.slice(1).entries())
      expect(run.startedAt).toBeGreaterThanOrEqual(inOrder[index]?.finishedAt ?? Infinity);
  }

  // The stand-in refuses a conversation whose calls and results do not pair, as providers do.
  expect(system.standIn.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  const told =
    system
      .sent()
      .at(-1)
      ?.messages.map(({ role }) => role) ?? [];
  expect(told.filter((role) => role === "user").length).toBeGreaterThan(10);
  for (const [index, role] of told.entries()) if (role === "user") expect(told[index - 1]).not.toBe("user");
  printFigure("29 queries at once on one thread", { rounds: ROUNDS, answered, "refused as busy": refused });
  expect(refused).toBe(ROUNDS * (AT_ONCE - 5));
});
