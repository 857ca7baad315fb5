import { expect, test } from "vitest";
import { printFigure } from "@patchbay/test-support/figures";
import type { Script } from "@patchbay/test-support/providers";
import { startContractSystem } from "./contract-system.ts";

const ROUNDS = 10;
const AT_ONCE = 20;

/** One call that waits for the test, then an answer that names the query. */
const script: Script = ({ step, query }) =>
  step === 0 ? { calls: [{ name: "wait", arguments: { id: query } }] } : { text: `Answer to ${query}.` };

test("of 20 concurrent queries on one thread one runs, four wait in order, the rest are rejected, and the history is complete", async () => {
  await using system = await startContractSystem(script);
  system.desk.release("begin");
  const { threadId } = await system.query("begin");
  let answered = 0;
  let refused = 0;

  for (let round = 0; round < ROUNDS; round++) {
    system.desk.handled.length = 0;
    const queries = Array.from({ length: AT_ONCE }, (_, index) => `r${round}q${index}`);
    let responses = 0;
    const ask = async (query: string) => {
      const answer = await system.query(query, { threadId });
      // Once the other queries are rejected, it is known which ones run or wait; let those end.
      if (++responses === AT_ONCE - 5) for (const one of queries) system.desk.release(one);
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

    // They ran one after another, in the order in which they were accepted.
    const runs = await system.plane.store.runs.list(system.agentId, { limit: 5 + AT_ONCE });
    const taken = runs.filter(({ request }) => succeeded.some(({ query }) => query === request.query));
    const inOrder = taken.toSorted((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0));
    expect(system.desk.handled.map(({ input }) => input["id"])).toEqual(inOrder.map(({ request }) => request.query));
    for (const [index, run] of inOrder.slice(1).entries())
      expect(run.startedAt).toBeGreaterThanOrEqual(inOrder[index]?.finishedAt ?? Infinity);
  }

  // Like real providers, the stand-in rejects a conversation whose calls and results do not pair.
  expect(system.standIn.requests.flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
  const roles =
    system
      .sent()
      .at(-1)
      ?.messages.map(({ role }) => role) ?? [];
  expect(roles.filter((role) => role === "user").length).toBeGreaterThan(10);
  for (const [index, role] of roles.entries()) if (role === "user") expect(roles[index - 1]).not.toBe("user");
  printFigure("concurrent queries on one thread", { rounds: ROUNDS, answered, "rejected as busy": refused });
  expect(refused).toBe(ROUNDS * (AT_ONCE - 5));
});
