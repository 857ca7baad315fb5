import { expect, test, vi } from "vitest";
import { createControlPlane, startControlPlane } from "../../src/start/control-plane.ts";
import { freePort } from "@patchbay/test-support/free-port";
import { silentLog } from "@patchbay/kit";
import { sqlitePlace } from "../../../store/test/sqlite-place.ts";

const options = { database: "sqlite::memory:", port: 0, log: silentLog };
const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;

test("a control plane whose port is taken stops everything it started", async () => {
  const first = await createControlPlane(options);
  const start = () => createControlPlane({ ...options, port: first.port });
  await expect(start()).rejects.toThrow("is taken");
  const [before, times] = [timers(), 20];

  for (let time = 0; time < times; time++) await expect(start()).rejects.toThrow("is taken");

  // The first one's own loops are between two waits now and then; one timer left by each would make twenty.
  await vi.waitFor(() => expect(timers()).toBeLessThan(before + times / 2));
  await first.close();
});

test("a start that fails after it has listened frees the port", async () => {
  await using place = await sqlitePlace();
  const here = { ...options, database: place.url, port: await freePort() };
  const first = await createControlPlane(here);
  await first.close();
  await place.execute("create trigger broken before insert on service begin select raise(abort, 'disk full'); end");
  await expect(createControlPlane(here)).rejects.toThrow("disk full");
  await place.execute("drop trigger broken");

  const again = await createControlPlane(here);

  expect(again.port).toBe(here.port);
  await again.close();
});

test("a second close waits for the same end", async () => {
  const plane = await startControlPlane(options);
  const first = plane.close();

  await plane.close();

  await expect(plane.store.ping()).rejects.toThrow();
  await first;
});
