import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createControlPlane } from "@patchbay/control-plane";
import { connect, silentLog } from "@patchbay/functions";
import { describe, expect, test } from "vitest";
import type { Script } from "@patchbay/test-support/providers";
import { parseSse } from "@patchbay/test-support/sse";
import { client } from "@patchbay/test-support/system";
import { openStream, typed } from "./open-stream.ts";
import { startContractSystem, type ContractSystem } from "./contract-system.ts";

/** Makes one call, then answers its next request only after the service has restarted. */
function interrupted() {
  let restarted = false;
  const script: Script = ({ step, messages }) => {
    if (step === 0) return { calls: [{ name: "look_up", arguments: { id: "1" } }] };
    return restarted ? { text: `Done after ${messages.length} messages.` } : { text: "never", stallAfterBytes: 1 };
  };
  return { script, restart: () => void (restarted = true) };
}

async function withFolder(work: (database: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "patchbay-contract-"));
  try {
    await work(`sqlite:${join(folder, "data.db")}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Restarts the service on the same data, and connects the functions again. */
async function startAgain(database: string, system: ContractSystem) {
  const plane = await createControlPlane({
    database,
    port: 0,
    local: true,
    providers: system.standIn.config,
    log: silentLog,
  });
  const { agentId, runtimeKey } = system;
  const connection = connect(system.desk.service, { url: plane.url, agentId, key: runtimeKey, log: silentLog });
  await connection.ready;
  return {
    ...client(plane, system),
    async [Symbol.asyncDispose]() {
      await connection.stop({ drainMs: 0 });
      await plane.close({ graceMs: 0 });
    },
  };
}

describe("a draining replica", () => {
  test("closes streams after a complete event (retry: 1000), and the client resumes elsewhere", () =>
    withFolder(async (database) => {
      const { script, restart } = interrupted();
      await using system = await startContractSystem(script, { database });
      const stream = openStream(await system.post(system.path("query-stream"), { query: "hi", includeDeltas: true }));
      await stream.until(typed("toolResult"));
      await system.standIn.received(2);

      const [text] = await Promise.all([stream.rest(), system.plane.close({ graceMs: 200 })]);
      expect(text).toMatch(/}\n\nretry: 1000\n\n$/);
      expect(text).not.toContain('"type":"error"');

      restart();
      await using next = await startAgain(database, system);
      const resumed = await next.get(`/agents/${system.agentId}/runs/${stream.runId}/events`, { "last-event-id": "2" });
      expect(parseSse(await resumed.text()).map(({ id, data }) => [id, data.type])).toEqual([[3, "finalResponse"]]);
      expect(system.desk.handled).toHaveLength(1);
    }));

  test("answers endpoint 1 with 503, Retry-After and X-Run-Id; the same Idempotency-Key joins the run", () =>
    withFolder(async (database) => {
      const { script, restart } = interrupted();
      await using system = await startContractSystem(script, { database });
      const key = { "idempotency-key": "k" };
      const asked = system.post(system.path(), { query: "hi" }, key);
      await system.standIn.received(2);

      const [response] = await Promise.all([asked, system.plane.close({ graceMs: 200 })]);
      expect(response.status).toBe(503);
      expect(Number(response.headers.get("Retry-After"))).toBeGreaterThan(0);
      expect(await response.json()).toMatchObject({ success: false, code: "unavailable" });

      restart();
      await using next = await startAgain(database, system);
      const answer = await next.query("hi", {}, key);
      expect(answer).toMatchObject({ success: true, runId: response.headers.get("X-Run-Id") });
      expect(answer.toolInteractions).toHaveLength(1);
    }));

  test("accepts no new connection and lets runs end that can end in time", async () => {
    let answer = () => {};
    const ready = new Promise<void>((resolve) => (answer = resolve));
    await using system = await startContractSystem(async () => ready.then(() => ({ text: "In time." })));
    const stream = openStream(await system.post(system.path("query-stream"), { query: "hi" }));
    const asked = system.query("ho");
    await system.standIn.received(2);

    const closed = system.plane.close();
    await expect(fetch(`${system.url}/healthz`)).rejects.toThrow();
    answer();

    expect(await asked).toMatchObject({ success: true, response: "In time." });
    expect((await stream.until(typed("finalResponse"))).data).toMatchObject({ response: "In time." });
    await closed;
  });
});
