import { expect, test } from "vitest";
import { echoed, startCluster } from "./cluster.ts";

const signal = new AbortController().signal;

test.each([
  { what: "has what its run has seen", words: ["Pay acc-1."], arrives: true },
  { what: "arrives without what is too large for the bus", words: ["x".repeat(300_000)], arrives: false },
])("a call at another replica $what", async ({ words, arrives }) => {
  await using cluster = await startCluster(["x", "y"]);
  const { x, desk, run } = await cluster.place();
  const flow = { words, results: [], tainted: true, secret: false, asks: false };
  const order = await cluster.intend(run, desk.instanceId);

  expect(await x.gateway.deliver({ ...order, flow }, { signal })).toEqual(echoed);

  expect(desk.service.invoked[0]?.flow).toEqual(arrives ? flow : undefined);
});
