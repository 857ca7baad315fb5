import { LiveEvent, LocalEvent } from "@patchbay/protocol";
import { expect, test } from "vitest";
import type { Script } from "@patchbay/test-support/providers";
import { startContractSystem } from "./contract-system.ts";

const SECONDS_AWAY = 3_600;

/** Each query makes a call; then the provider fails four times, and answers or asks for a long wait. */
function failing(): Script {
  const failures = new Map<string, number>();
  return ({ query, step }) => {
    if (step === 0) return { calls: [{ name: "look_up", arguments: { id: query } }] };
    const failed = failures.get(query) ?? 0;
    failures.set(query, failed + 1);
    if (failed < 4) return { error: { status: 529 } };
    if (!query.includes("stays away")) return { text: "It is there." };
    return { error: { status: 529, headers: { "retry-after": String(SECONDS_AWAY) } } };
  };
}

const comments = (text: string) => text.split("\n").filter((line) => line.startsWith(": {"));

test("modelStatus {state, attempt, waitMs?} is live on endpoint 2, and {state, attempt, wait_ms?} in data on endpoint 3", async () => {
  await using system = await startContractSystem(failing());

  const [hosted, local] = await Promise.all([
    system.stream("hosted", { includeDeltas: true }),
    system.local("local", { include_deltas: true }),
  ]);

  const live = hosted.events.filter(({ data }) => (data.type as string) === "modelStatus");
  expect(live.map(({ id }) => id)).toEqual([undefined, undefined, undefined, undefined]);
  expect(live.map(({ data }) => data)).toMatchObject([2, 3, 4, 5].map((attempt) => ({ state: "retrying", attempt })));
  expect(live.at(-1)?.data).toEqual({
    type: "modelStatus",
    state: "retrying",
    attempt: 5,
    waitMs: expect.any(Number),
  });
  for (const { data } of live) expect(LiveEvent.parse(data)).toEqual(data);
  const localLive = local.events.filter(({ data }) => data.type === "model_status");
  expect(localLive).toHaveLength(4);
  expect(localLive.at(-1)?.data).toEqual({
    type: "model_status",
    data: { state: "retrying", attempt: 5, wait_ms: expect.any(Number) },
  });
  for (const { data } of localLive) expect(LocalEvent.parse(data)).toEqual(data);
  expect(comments(hosted.text + local.text)).toEqual([]);
  const log = await system.get(`/agents/${system.agentId}/runs/${hosted.headers.get("X-Run-Id")}/events`);
  expect(await log.text()).not.toContain("modelStatus");
});

test("without deltas it is a comment line, next to the documented events only", async () => {
  await using system = await startContractSystem(failing());

  const [hosted, local, answer] = await Promise.all([
    system.stream("hosted"),
    system.local("local"),
    system.query("answer"),
  ]);

  expect(hosted.events.map(({ data }) => data.type)).toEqual(["toolCall", "toolResult", "finalResponse"]);
  expect(local.events.map(({ data }) => data.type)).toEqual(["function_call", "function_result", "final_response"]);
  const bodies = (text: string) => comments(text).map((line) => JSON.parse(line.slice(2)) as unknown);
  expect(bodies(hosted.text)).toMatchObject([2, 3, 4, 5].map((attempt) => ({ type: "modelStatus", attempt })));
  expect(bodies(local.text)).toMatchObject(
    [2, 3, 4, 5].map((attempt) => ({ type: "model_status", data: { attempt } })),
  );
  expect(answer.warnings).toEqual([
    expect.stringMatching(/^The model did not answer for \d+ s: 4 requests failed \(HTTP 529\)$/),
  ]);
  expect(hosted.events.at(-1)?.data["warnings"]).toEqual([expect.stringMatching(/4 requests failed/)]);
});

test("the error event and the failed answer of a run whose model stays away have warnings", async () => {
  await using system = await startContractSystem(failing());

  const [hosted, local, answer] = await Promise.all([
    system.stream("stays away: hosted"),
    system.local("stays away: local"),
    system.query("stays away: answer"),
  ]);

  const warnings = [expect.stringMatching(/^The model did not answer for \d+ s: 5 requests failed \(HTTP 529\)$/)];
  const message = expect.stringContaining(`(it asks for ${SECONDS_AWAY} s)`);
  expect(answer).toMatchObject({ success: false, code: "provider_error", errorMessage: message, warnings });
  expect(answer.toolInteractions).toMatchObject([{ success: true }]);
  expect(hosted.events.at(-1)?.data).toEqual({
    type: "error",
    errorMessage: message,
    code: "provider_error",
    threadId: hosted.headers.get("X-Thread-Id"),
    runId: hosted.headers.get("X-Run-Id"),
    warnings,
  });
  expect(local.events.at(-1)?.data).toEqual({ type: "error", data: { message, code: "provider_error", warnings } });
});

test("a run that has stored no turn fails within three attempts, and its error event has no warnings", async () => {
  await using system = await startContractSystem(() => ({ error: { status: 529 } }));

  const { events } = await system.stream("hi", { includeDeltas: true });

  expect(events.map(({ data }) => data.type)).toEqual(["error"]);
  expect(events[0]?.data).not.toHaveProperty("warnings");
  expect(system.sent()).toHaveLength(3);
});
