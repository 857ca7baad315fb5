import { expect, test } from "vitest";
import { compareInTurn } from "@patchbay/engine/ports/store/comparisons";

/** A comparison of one piece. */
function* only<T>(work: () => T): Generator<undefined, T> {
  yield;
  return work();
}

test("other work of the process runs between two comparisons", async () => {
  const order: string[] = [];
  const compare = (name: string) =>
    compareInTurn(
      "agent",
      only(() => {
        order.push(name);
        setImmediate(() => order.push(`work after ${name}`));
      }),
    );

  await Promise.all(["first", "second"].map(compare));

  expect(order).toEqual(["first", "work after first", "second"]);
});

test("other work of the process runs between the long pieces of a comparison", async () => {
  const order: string[] = [];
  function* comparison(): Generator<undefined, string> {
    for (const piece of ["first", "second"]) {
      const endsAt = performance.now() + 11;
      while (performance.now() < endsAt);
      order.push(piece);
      setImmediate(() => order.push(`work after ${piece}`));
      yield;
    }
    return "compared";
  }

  await expect(compareInTurn("agent", comparison())).resolves.toBe("compared");

  expect(order).toEqual(["first", "work after first", "second", "work after second"]);
});

test("agents take turns, so one with many comparisons does not delay another", async () => {
  const order: string[] = [];
  const compare = (agentId: string) =>
    compareInTurn(
      agentId,
      only(() => order.push(agentId)),
    );

  await Promise.all(["many", "many", "many", "many", "other"].map(compare));

  expect(order.slice(0, 3)).toContain("other");
});

test("a comparison that fails rejects, and the next one is made", async () => {
  const failing = compareInTurn(
    "agent",
    only(() => {
      throw new Error("no");
    }),
  );

  await expect(failing).rejects.toThrow("no");
  const next = compareInTurn(
    "agent",
    only(() => "compared"),
  );
  await expect(next).resolves.toBe("compared");
});
