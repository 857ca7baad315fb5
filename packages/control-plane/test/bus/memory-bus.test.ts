import { expect, test } from "vitest";
import { createMemoryBus } from "../../src/bus/memory-bus.ts";
import { busContract } from "./contract.ts";
import { oneBus } from "./ends.ts";

busContract(async () => oneBus(createMemoryBus()));

test("a bus that has no other replica to reach is always healthy", async () => {
  const bus = createMemoryBus();
  expect(bus.healthy).toBe(true);
  await bus.close();
  expect(bus.healthy).toBe(true);
});
