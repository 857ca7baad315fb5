import { execFileSync } from "node:child_process";
import { mkdtempDisposableSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sampleRun } from "../../store/test/contract/world.ts";
import { openDesk } from "./support/console-desk.ts";

test("an archive has a recording and a test of each run that matches, and names the runs that cannot be replayed", async () => {
  await using desk = await openDesk();
  const { orgId, agentId } = desk;
  const viewer = await desk.member("viewer");
  const manager = await desk.query("Refund 5, and show order 7!", { role: "manager" });
  const customer = await desk.query("Ünïcode 2", { role: "customer" });
  const open = sampleRun({ orgId, agentId, runId: "run_open" });
  await desk.store.runs.start(open);

  const response = await viewer.ask("GET", `${desk.agent}/run-export?format=tests`);
  using folder = mkdtempDisposableSync(join(tmpdir(), "console-tests-"));
  execFileSync("tar", ["-xf", "-", "-C", folder.path], { input: Buffer.from(await response.arrayBuffer()) });

  expect(response.headers.get("content-disposition")).toBe(`attachment; filename="tests-${agentId}.tar"`);
  const files = [`n-code-2-${customer.runId}`, `refund-5-and-show-order-7-${manager.runId}`];
  expect(readdirSync(folder.path).toSorted()).toEqual(
    [...files.flatMap((name) => [`${name}.json`, `${name}.test.ts`]), "skipped.txt"].toSorted(),
  );
  const read = (name: string) => readFileSync(join(folder.path, name), "utf8");
  expect(JSON.parse(read(`${files[1]}.json`))).toMatchObject({ recording: 1, queries: [{ role: "manager" }] });
  expect(read(`${files[1]}.test.ts`)).toContain("expect(done.answer.success).toBe(true)");
  expect(read("skipped.txt")).toBe("Run run_open has not ended yet: export it when it has.\n");
  const counts = (filter: string) => viewer.json("GET", `${desk.agent}/run-export/tests?${filter}`);
  expect(await counts("")).toEqual({ tests: 2, toEdit: 0, left: 1 });
  expect(await counts("role=customer")).toEqual({ tests: 1, toEdit: 0, left: 0 });
  await desk.query("And mine?", { role: "customer", contextJson: '{"customerId":"ann"}' });
  expect(await counts("role=customer")).toEqual({ tests: 2, toEdit: 1, left: 0 });
});

test("an archive of nothing is empty, and one of another organisation's agent is not found", async () => {
  await using desk = await openDesk();
  const viewer = await desk.member("viewer");
  const stranger = await desk.member("owner", (await desk.admin.createOrg("Other")).orgId);

  const none = await viewer.ask("GET", `${desk.agent}/run-export?format=tests`);
  expect(execFileSync("tar", ["-tf", "-"], { input: Buffer.from(await none.arrayBuffer()) }).length).toBe(0);
  expect((await stranger.ask("GET", `${desk.agent}/run-export?format=tests`)).status).toBe(404);
});
