import { expect, test } from "vitest";
import { callThenAnswer, startStandIn, WIRES, type Wire } from "../../../../test/support/providers/index.ts";
import { createModelCatalog } from "../../src/models/catalog.ts";
import { asking, continued, essence, turnOf } from "./drive.ts";

async function lookUp(wire: Wire) {
  const script = callThenAnswer([{ name: "orders.find", arguments: { id: "7" } }, { name: "ping" }]);
  await using standIn = await startStandIn(wire, script);
  const chosen = createModelCatalog(standIn.config).choose();
  if ("missing" in chosen) throw new Error("not configured");
  const asked = asking(chosen.model);

  const first = await turnOf(chosen.provider, asked);
  const results = continued(first, { content: '{"open":true}', isError: false });
  const second = await turnOf(chosen.provider, { ...asked, messages: [...asked.messages, ...results] });
  return [essence(first), essence(second)];
}

test("the same run is the same on every wire, each with its default model", async () => {
  const [first, ...others] = await Promise.all(WIRES.map(lookUp));

  expect(first?.[1]?.text).toBe('{"open":true}\n{"open":true}');
  for (const other of others) expect(other).toEqual(first);
});
