import { expect, test } from "vitest";
import { type MakePlace, openWorld } from "./world.ts";

export function writtenValueContract(place: MakePlace): void {
  test("values that tainted runs wrote are found by every store, for their agent only", async () => {
    await using world = await openWorld(place);
    const { orgId, agentId } = world;
    const other = await world.another();
    const many = Array.from({ length: 1_500 }, (_, i) => `digest-${i}`);
    await world.store.runs.noteWritten(
      { agentId, orgId },
      new Map([["a", false], ...many.map((one) => [one, true] as const)]),
    );

    const expected = new Map([
      ["a", false],
      ["digest-1499", true],
    ]);
    expect(await other.runs.written(agentId, ["a", "b", "digest-1499"])).toEqual(expected);
    expect((await other.runs.written(agentId, many)).size).toBe(1_500);
    expect(await other.runs.written("agt_other", ["a"])).toEqual(new Map());
  });

  test("runs that write the same values at the same time do not disturb each other", async () => {
    await using world = await openWorld(place);
    const { orgId, agentId } = world;
    const stores = [world.store, await world.another()];
    const values = Array.from({ length: 200 }, (_, i): [string, boolean] => [`digest-${i}`, false]);

    await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        stores[i % 2]!.runs.noteWritten({ agentId, orgId }, new Map(i % 2 === 0 ? values : values.toReversed())),
      ),
    );

    expect(
      (
        await world.store.runs.written(
          agentId,
          values.map(([digest]) => digest),
        )
      ).size,
    ).toBe(200);
  });
}
