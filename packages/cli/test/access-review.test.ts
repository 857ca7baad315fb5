import { join } from "node:path";
import { expect, test } from "vitest";
import { loadService } from "../src/service-file.ts";
import { desk } from "./support/search-desk.ts";
import { AGENT, seedCalls } from "./support/stored-calls.ts";

test("a review says what a change allows and how sure that is, and which real calls it would have decided otherwise", async () => {
  await using service = await desk();
  await service.lock();
  await service.commit();
  const { manifest } = await loadService(join(service.path, "service.ts"));
  const denied = { ok: false, code: "denied", message: "x", rule: "authorize" } as const;
  const call = { functionName: "toggle", role: "staff", arguments: { on: true, level: 2 }, outcome: denied };
  await seedCalls(`sqlite:${join(service.path, "patchbay.db")}`, manifest, [call, call]);
  const review = (...args: string[]) =>
    service.access("--review", "--against", "HEAD", "--agent", AGENT, "--data-dir", service.path, ...args);

  await service.edit("service.ts", "input.on && input.level < 2", "Math.abs(input.level) <= 1 && input.on");
  const same = await review();
  await service.lock();
  const written = await review();
  await service.edit("service.ts", "<= 1", "<= 2");
  await service.lock();
  const wider = await review();

  expect(same).toMatchObject({ code: 1, stderr: expect.stringContaining("not in the committed lock") });
  expect(written).toMatchObject({ code: 0, stderr: "" });
  expect(written.stdout).toMatch(/^## Access of \w+: nothing to decide$/m);
  expect(written.stdout).toMatch(
    /^\| \*\*tested\*\* \| authorize of toggle.*no call that was denied is allowed \(tested: /m,
  );
  expect(written.stdout).toContain("Of the last 2 calls, 2 are unchanged and 0 are decided otherwise.");
  expect(wider).toMatchObject({ code: 1, stderr: expect.stringContaining("open, a real call that would be allowed") });
  expect(wider.stdout).toMatch(/^\| \*\*open\*\* \| unproven: authorize of toggle/m);
  expect(wider.stdout).toMatch(
    /^\| would allow \| 2 \| toggle \| staff \| denied \(authorize\) → allowed \| run_1 run_0 \|$/m,
  );
});
