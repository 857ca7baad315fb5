import type { LiveEvent } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { type ProgressReport, reportProgress } from "../../../src/query/mcp/progress.ts";

test("a client gets the progress and what keeps the model, with numbers that grow", async () => {
  const events: LiveEvent[] = [
    { type: "modelStatus", state: "silent", attempt: 1 },
    { type: "modelStatus", state: "retrying", attempt: 2 },
    { type: "modelStatus", state: "retrying", attempt: 3, waitMs: 1_200 },
    { type: "toolProgress", toolCallId: "call_1", data: "digs" },
    { type: "responseDelta", content: "Done." },
  ];
  const sent: ProgressReport[] = [];
  const runs = {
    async *follow() {
      yield events.map((event) => ({ body: JSON.stringify(event) }));
    },
  };

  await reportProgress(
    runs,
    { runId: "run_1", agentId: "agt_1", threadId: "thr_1" },
    async (report) => void sent.push(report),
    { signal: new AbortController().signal },
  );

  expect(sent.map(({ message }) => message)).toEqual([
    "Waiting for the model",
    "The model did not answer. Asking again (attempt 2)",
    "The model did not answer. Asking again in 2 s (attempt 3)",
    "digs",
  ]);
  const numbers = sent.map(({ progress }) => progress);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  expect(new Set(numbers).size).toBe(4);
});
