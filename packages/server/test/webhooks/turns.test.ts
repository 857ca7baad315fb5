import { expect, test } from "vitest";
import { createTurns, type DueAgent } from "../../src/webhooks/turns.ts";

const of = (orgId: string, count: number): DueAgent[] =>
  Array.from({ length: count }, (_, i) => ({ orgId, agentId: `${orgId}_${i}` }));

/** Turns over `slots` with waiting agents, and a way to take all that are given. */
function turnsWith(slots: number, ...due: DueAgent[]) {
  const turns = createTurns(slots);
  for (const one of due) turns.add(one);
  const takeAll = () => {
    const taken: DueAgent[] = [];
    for (let one = turns.take(); one; one = turns.take()) taken.push(one);
    return taken;
  };
  return { ...turns, takeAll };
}

test("organisations take turns, whatever their ids and the number of their agents", () => {
  const turns = turnsWith(16, ...of("a", 900), ...of("b", 2), ...of("c", 2));

  const taken = turns.takeAll().map(({ agentId }) => agentId);

  expect(taken.slice(0, 6)).toEqual(["a_0", "b_0", "c_0", "a_1", "b_1", "c_1"]);
});

test("one organisation leaves a quarter of the slots to others, who get them at once", () => {
  const turns = turnsWith(16, ...of("a", 900));
  expect(turns.takeAll()).toHaveLength(12);

  for (const one of of("b", 900)) turns.add(one);

  expect(turns.takeAll().map(({ orgId }) => orgId)).toEqual(["b", "b", "b"]);
  turns.add({ orgId: "c", agentId: "c_0" });
  expect(turns.takeAll()).toEqual([{ orgId: "c", agentId: "c_0" }]);
});

test("a freed slot goes to the organisation that has the next turn", () => {
  const [slow] = of("a", 1);
  const turns = turnsWith(4, ...of("a", 9));
  expect(turns.takeAll()).toHaveLength(3);
  for (const one of [...of("b", 1), ...of("c", 1)]) turns.add(one);
  expect(turns.takeAll()).toHaveLength(1);

  turns.release(slow!);

  expect(turns.takeAll()).toEqual([{ orgId: "c", agentId: "c_0" }]);
});

test("an agent that is added again waits behind the others of its organisation", () => {
  const turns = turnsWith(2, ...of("a", 2));
  const first = turns.take()!;
  turns.release(first);
  turns.add(first);
  turns.add(first);

  expect(turns.take()).toEqual({ orgId: "a", agentId: "a_1" });
});
