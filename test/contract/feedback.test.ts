import { describe, expect, test } from "vitest";
import { consoleOf } from "../../packages/store/test/contract/world.ts";
import type { OpenStore } from "@patchbay/store/open";
import { scriptFor } from "@patchbay/test-support/providers";
import { type ContractSystem, startContractSystem } from "./contract-system.ts";

describe("POST /agents/{agent_id}/runs/{run_id}/feedback", () => {
  const path = (system: ContractSystem, runId: string) => `/agents/${system.agentId}/runs/${runId}/feedback`;

  const stored = async ({ plane, orgId, agentId }: ContractSystem, runId: string) =>
    (await consoleOf(plane.store as OpenStore).runs.parts({ orgId, agentId }, runId))?.feedback;

  test("-> 204; the newest of a key counts", async () => {
    await using system = await startContractSystem(scriptFor({ text: "Hello." }));
    const { runId } = await system.query("hi");
    const long = { score: -1, tags: Array.from({ length: 20 }, () => "t".repeat(64)), comment: "c".repeat(10_000) };

    for (const body of [{ score: 1 }, { tags: [], comment: null }, { comment: "Fine.", score: null }, long]) {
      const response = await system.post(path(system, runId), body);
      expect([response.status, await response.text()]).toEqual([204, ""]);
    }

    expect(await stored(system, runId)).toMatchObject([{ score: -1, tags: long.tags, comment: long.comment }]);
  });

  test("400 with the path of each invalid member, and nothing is stored", async () => {
    await using system = await startContractSystem(scriptFor({ text: "Hello." }));
    const { runId } = await system.query("hi");

    for (const [body, path] of [
      [{ score: 1.01 }, "score"],
      [{ score: "1" }, "score"],
      [{ tags: Array.from({ length: 21 }, () => "t") }, "tags"],
      [{ tags: ["t".repeat(65)] }, "tags.0"],
      [{ tags: [""] }, "tags.0"],
      [{ comment: "c".repeat(10_001) }, "comment"],
      [{}, ""],
      [{ score: null, comment: "" }, ""],
      [{ rating: 5 }, ""],
    ] as const) {
      const response = await system.post(`/agents/${system.agentId}/runs/${runId}/feedback`, body);
      expect(response.status, JSON.stringify(body)).toBe(400);
      const error = (await response.json()) as { details: { message: string }[] };
      expect(error).toMatchObject({ code: "invalid_request", details: [{ path }] });
      expect(error.details[0]?.message).toMatch(/^must /);
    }
    expect(await stored(system, runId)).toEqual([]);
  });

  test("DELETE -> 204 also without feedback; only that of the key is removed", async () => {
    await using system = await startContractSystem(scriptFor({ text: "Hello." }));
    const { runId } = await system.query("hi");
    const other = await system.plane.admin.createKey({ agentId: system.agentId });
    await system.post(path(system, runId), { score: 1 });
    await system.post(path(system, runId), { score: -1 }, { "x-api-key": other.apiKey });

    const remove = (run: string) =>
      fetch(`${system.url}${path(system, run)}`, { method: "DELETE", headers: { "x-api-key": system.apiKey } });
    for (let times = 0; times < 2; times += 1) {
      const response = await remove(runId);
      expect([response.status, await response.text()]).toEqual([204, ""]);
      expect(await stored(system, runId)).toMatchObject([{ score: -1 }]);
    }
    expect((await remove("run_none")).status).toBe(404);
  });

  test("404 for a run that the key cannot read", async () => {
    await using system = await startContractSystem(scriptFor({ text: "Hello." }));
    const { runId } = await system.query("hi", { role: "agent" });
    const pinned = await system.plane.admin.createKey({ agentId: system.agentId, roles: ["clerk"] });

    const headers = { "x-api-key": pinned.apiKey };
    expect((await system.post(path(system, runId), { score: 1 }, headers)).status).toBe(404);
    expect((await system.post(path(system, "run_none"), { score: 1 })).status).toBe(404);
    expect((await system.post(path(system, runId), { score: 1 }, { "x-api-key": "wrong" })).status).toBe(401);
    expect(await stored(system, runId)).toEqual([]);
  });
});
