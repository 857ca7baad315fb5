import { expect, test } from "vitest";
import { createControlPlane } from "../src/compose.ts";
import { silentLog } from "../src/ports/log.ts";

const options = { database: "sqlite::memory:", port: 0, log: silentLog };
const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;

test("a control plane whose port is taken leaves nothing running", async () => {
  const first = await createControlPlane(options);
  const start = () => createControlPlane({ ...options, port: first.port });
  await expect(start()).rejects.toThrow("is taken");
  const before = timers();

  await expect(start()).rejects.toThrow("is taken");

  expect(timers()).toBe(before);
  await first.close();
});

test("closing twice waits twice for the same end", async () => {
  const plane = await createControlPlane(options);
  const first = plane.close();

  await plane.close();

  await expect(plane.store.ping()).rejects.toThrow();
  await first;
});
