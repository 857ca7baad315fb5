import { describe, expect, test } from "vitest";
import { callThenAnswer } from "@patchbay/test-support/providers";
import { parseSse } from "@patchbay/test-support/sse";
import { openStream, typed } from "./open-stream.ts";
import { startContractSystem, type ContractSystem } from "./contract-system.ts";

const lookingUp = callThenAnswer(
  ["a", "b"].map((id) => ({ name: "look_up", arguments: { id } })),
  () => "Both are there. – “Für alle”",
);
const waiting = callThenAnswer([{ name: "wait", arguments: { id: "a" } }]);

function resume(system: ContractSystem, runId: string | null, headers: Record<string, string> = {}) {
  return system.get(`/agents/${system.agentId}/runs/${runId}/events`, headers);
}

/** The part of a cut stream that a client keeps: its complete events. */
function wholeEvents(text: string): string {
  const end = text.lastIndexOf("\n\n");
  return end < 0 ? "" : text.slice(0, end + 2);
}

describe("resume: GET /agents/{agent_id}/runs/{run_id}/events with Last-Event-ID", () => {
  test("replays the missed stored events, byte for byte, after a cut at any offset", async () => {
    await using system = await startContractSystem(lookingUp);
    const { text, headers } = await system.stream("hi");
    const whole = Buffer.from(text);
    const runId = headers.get("X-Run-Id");

    for (let offset = 0; offset < whole.length; offset += 7) {
      const kept = wholeEvents(whole.subarray(0, offset).toString());
      const last = parseSse(kept).at(-1)?.id;
      const rest = await resume(system, runId, last === undefined ? {} : { "last-event-id": String(last) });
      expect(rest.status).toBe(200);
      expect(kept + (await rest.text())).toBe(text);
    }
  });

  test("continues live", async () => {
    await using system = await startContractSystem(waiting);
    const first = openStream(await system.post(system.path("query-stream"), { query: "hi" }));
    await first.until(typed("toolCall"));

    const second = openStream(await resume(system, first.runId, { "last-event-id": "1" }));
    system.desk.release("a");

    const seen = await second.rest();
    expect((await first.rest()).endsWith(seen)).toBe(true);
    expect(parseSse(seen).map(({ id, data }) => [id, data.type])).toEqual([
      [2, "toolResult"],
      [3, "finalResponse"],
    ]);
  });

  test("an id beyond the log of an active run receives the events that follow", async () => {
    await using system = await startContractSystem(waiting);
    const first = openStream(await system.post(system.path("query-stream"), { query: "hi" }));
    await first.until(typed("toolCall"));

    const second = openStream(await resume(system, first.runId, { "last-event-id": "999" }));
    system.desk.release("a");

    expect(parseSse(await second.rest()).map(({ data }) => data.type)).toEqual(["toolResult", "finalResponse"]);
  });

  test("204 when no event is left, 400 for a Last-Event-ID that is not a number, 404 for an unknown run", async () => {
    await using system = await startContractSystem(lookingUp);
    const { headers, events } = await system.stream("hi");
    const runId = headers.get("X-Run-Id");
    const last = String(events.at(-1)?.id);

    for (const id of [last, "999"]) expect((await resume(system, runId, { "last-event-id": id })).status).toBe(204);
    for (const id of ["", "x", "-1", "1.5", "1e3", "0x1", "1 2", "9".repeat(30)]) {
      const bad = await resume(system, runId, { "last-event-id": id });
      expect(bad.status).toBe(400);
      expect(await bad.json()).toMatchObject({ code: "invalid_request", details: [{ path: "Last-Event-ID" }] });
    }
    const unknown = await resume(system, "run_nobody");
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ code: "not_found" });
  });

  test("accepts any key of the agent; a run of another agent is 404", async () => {
    await using system = await startContractSystem(lookingUp);
    const { headers } = await system.stream("hi", { role: "admin" });
    const runId = headers.get("X-Run-Id");
    const { apiKey: second } = await system.plane.admin.createKey({ agentId: system.agentId });
    const other = await system.plane.admin.createAgent("Other", { orgId: system.orgId });

    const allowed = await resume(system, runId, { "x-api-key": second });
    const foreign = await system.get(`/agents/${other.agentId}/runs/${runId}/events`, { "x-api-key": other.apiKey });

    expect([allowed.status, foreign.status]).toEqual([200, 404]);
    await allowed.text();
  });

  test("a pinned key resumes, reads and cancels runs of its roles or without a role; other runs are 404", async () => {
    await using system = await startContractSystem(lookingUp);
    const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, roles: ["support"] });
    const key = { "x-api-key": apiKey };
    const own = await system.query("hi", { role: "support" });
    const roleless = await system.query("hi");
    const foreign = await system.query("hi", { role: "admin" });

    for (const [run, statuses] of [
      [own, [200, 200, 200]],
      [roleless, [200, 200, 200]],
      [foreign, [404, 404, 404]],
    ] as const) {
      const path = `/agents/${system.agentId}/runs/${run.runId}`;
      const answers = [
        await system.get(`${path}/events`, key),
        await system.get(path, key),
        await system.post(`${path}/cancel`, {}, key),
      ];
      expect(answers.map(({ status }) => status)).toEqual(statuses);
      for (const answer of answers) await answer.text();
    }
  });
});

test("a client that disconnects does not cancel its run", async () => {
  await using system = await startContractSystem(waiting);
  const stream = openStream(await system.post(system.path("query-stream"), { query: "hi" }));
  await stream.until(typed("toolCall"));
  await stream.leave();
  const abort = new AbortController();
  const request = { method: "POST", headers: { "content-type": "application/json", "x-api-key": system.apiKey } };
  const left = fetch(system.url + system.path(), {
    ...request,
    body: JSON.stringify({ query: "ho", threadId: stream.headers.get("X-Thread-Id") }),
    signal: abort.signal,
  });
  await system.standIn.received(1);
  abort.abort();
  await expect(left).rejects.toThrow();

  system.desk.release("a");

  const rest = parseSse(await (await resume(system, stream.runId, { "last-event-id": "1" })).text());
  expect(rest.at(-1)?.data).toMatchObject({ type: "finalResponse", response: "waited for a" });
});
