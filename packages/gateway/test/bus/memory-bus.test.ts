import { expect, test } from "vitest";
import { createMemoryBus } from "../../src/bus/memory-bus.ts";
import { busContract } from "./contract.ts";
import { oneBus } from "./ends.ts";

busContract(async () => oneBus(createMemoryBus()));

test("the bus of a single process is always healthy", async () => {
  const bus = createMemoryBus();
  expect(bus.healthy).toBe(true);
  await bus.close();
  expect(bus.healthy).toBe(true);
});

test("reaches is false before the first subscriber and after the last one", () => {
  const bus = createMemoryBus();
  expect(bus.reaches("run.one")).toBe(false);
  const subscriptions = [bus.subscribe("run.one", () => {}), bus.subscribe("run.one", () => {})];

  subscriptions[0]![Symbol.dispose]();
  expect(bus.reaches("run.one")).toBe(true);
  subscriptions[1]![Symbol.dispose]();
  expect(bus.reaches("run.one")).toBe(false);
});
