import { type ApprovalNotice, type ConnectOptions, defineFunction, defineService } from "@patchbay/functions";
import { canonicalJson } from "@patchbay/kit";
import { type GrantedApproval } from "@patchbay/protocol";
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { z } from "zod";
import { callFrame } from "@patchbay/test-support/fake-control-plane";
import { createInbox, until } from "@patchbay/test-support/inbox";
import { memoryLog } from "../calls.ts";
import { plane, runtimeOf } from "./hand-plane.ts";

const asked = { amount: 300 };

async function connectedDesk(options: Partial<ConnectOptions> = {}) {
  const ran: unknown[] = [];
  const refund = defineFunction({
    name: "refund",
    description: "Refunds an order.",
    input: z.object({ amount: z.number() }),
    roles: ["support", "manager"],
    approval: { by: ["manager"], when: ({ input }) => input.amount > 100 && "Above 100.", edit: ["amount"] },
    handler: (input) => void ran.push(input),
  });
  const service = defineService({ name: "desk", functions: [refund] });
  const started = await plane();
  const runtime = runtimeOf(started.url, service, options);
  const connection = await started.welcome();
  const deliver = (change: Parameters<typeof callFrame>[1] = {}) =>
    connection.send(callFrame("call_7", { function: "refund", role: "support", arguments: asked, ...change }));
  return { ran, plane: started, runtime, connection, deliver };
}

function granted(change: Partial<GrantedApproval> = {}): GrantedApproval {
  return {
    approvalId: "apr_7",
    argumentsHash: createHash("sha256").update(canonicalJson(asked)).digest("hex"),
    decidedAs: "manager",
    decidedBy: "key_manager",
    requestedBy: "key_support",
    decidedAt: "2026-11-23T10:00:00.000Z",
    ...change,
  };
}

const required = { attempt: 1, outcome: { ok: false, code: "approval_required", message: "Above 100." } };

test("a call that waits for an approval runs at its next delivery, once", async () => {
  const { ran, connection, deliver } = await connectedDesk();
  deliver();
  expect(await connection.next("result")).toMatchObject(required);
  connection.send({ type: "resultAck", callId: "call_7" });

  deliver({ attempt: 2, approval: granted() });
  expect(await connection.next("result")).toMatchObject({ attempt: 2, outcome: { ok: true } });
  deliver({ attempt: 3, approval: granted() });

  expect(await connection.next("callState")).toMatchObject({ attempt: 3, state: "done" });
  expect(ran).toEqual([asked]);
});

test("a decision runs the call also if the acknowledgement of the request was lost", async () => {
  const { ran, connection, deliver } = await connectedDesk();
  deliver();
  await connection.next("result");

  deliver({ attempt: 2, approval: granted({ edited: { amount: 200 } }) });

  expect(await connection.next("result")).toMatchObject({
    attempt: 2,
    outcome: { ok: true, input: { amount: 200 } },
  });
  expect(ran).toEqual([{ amount: 200 }]);
});

test("a repeated first delivery is answered with the request, and a question about the second one with unseen", async () => {
  const { ran, connection, deliver } = await connectedDesk();
  deliver();
  const first = await connection.next("result");

  deliver();
  expect(await connection.next("callState")).toMatchObject({ attempt: 1, state: "done" });
  expect(await connection.next("result")).toEqual(first);
  connection.send({ type: "callQuery", callId: "call_7", attempt: 2 });
  expect(await connection.next("callState")).toMatchObject({ attempt: 2, state: "unseen" });
  deliver({ attempt: 2, approval: granted() });

  expect(await connection.next("callState")).toMatchObject({ attempt: 2, state: "unseen" });
  expect(ran).toEqual([]);
});

test("a decision for other arguments than those of the request is refused, whatever hash it has", async () => {
  const { ran, connection, deliver } = await connectedDesk();
  deliver();
  await connection.next("result");
  connection.send({ type: "resultAck", callId: "call_7" });
  const other = { amount: 999 };
  const argumentsHash = createHash("sha256").update(canonicalJson(other)).digest("hex");

  deliver({ attempt: 2, arguments: other, approval: granted({ argumentsHash }) });

  expect(await connection.next("result")).toMatchObject({
    attempt: 2,
    outcome: { ok: false, code: "denied", rule: "approval" },
  });
  expect(ran).toEqual([]);
});

test("a second delivery without a decision asks again", async () => {
  const { ran, connection, deliver } = await connectedDesk();
  deliver();
  await connection.next("result");

  deliver({ attempt: 2 });

  expect(await connection.next("result")).toMatchObject({ ...required, attempt: 2 });
  expect(ran).toEqual([]);
});

test("a runtime that did not ask for the approval runs the call", async () => {
  const { ran, connection, deliver } = await connectedDesk();

  deliver({ attempt: 2, approval: granted() });

  expect(await connection.next("result")).toMatchObject({ attempt: 2, outcome: { ok: true } });
  expect(ran).toEqual([asked]);
});

test("onApproval receives a request once it is stored, and only once", async () => {
  const notices = createInbox<ApprovalNotice>("notice");
  const { connection, deliver } = await connectedDesk({ onApproval: notices.put });
  const before = Date.now();
  deliver({ context: { customerId: "c1" }, runId: "run_1", threadId: "thr_1" });
  await connection.next("result");
  expect(notices.rest).toEqual([]);

  connection.send({ type: "resultAck", callId: "call_7" });
  connection.send({ type: "resultAck", callId: "call_7" });

  const notice = await notices.next((one): one is ApprovalNotice => one !== undefined);
  expect(notice).toEqual({
    approvalId: "apr_7",
    functionName: "refund",
    arguments: asked,
    reason: "Above 100.",
    by: ["manager"],
    role: "support",
    context: { customerId: "c1" },
    runId: "run_1",
    threadId: "thr_1",
    expiresAt: expect.any(Date),
  });
  expect(notice.expiresAt.getTime()).toBeGreaterThanOrEqual(before + 86_400_000);
  deliver({ callId: "call_8", arguments: { amount: 1 } });
  await connection.next("result");
  expect(notices.rest).toEqual([]);
});

test.each([
  ["the run was cancelled", { type: "cancel", callId: "call_7", reason: "cancelled" }],
  [
    "the decision has arrived",
    callFrame("call_7", { function: "refund", role: "support", arguments: asked, attempt: 2, approval: granted() }),
  ],
])("onApproval is not called after %s", async (_, frame) => {
  const notices: ApprovalNotice[] = [];
  const { connection, deliver } = await connectedDesk({ onApproval: (notice) => void notices.push(notice) });
  deliver();
  await connection.next("result");

  connection.send(frame);
  connection.send({ type: "resultAck", callId: "call_7" });
  deliver({ callId: "call_8", arguments: { amount: 1 } });

  await until(() => connection.inbox.rest.some((one) => "callId" in one && one.callId === "call_8"), "a later result");
  expect(notices).toEqual([]);
});

test("an error of onApproval is logged, and the runtime serves on", async () => {
  const log = memoryLog();
  const { connection, deliver } = await connectedDesk({
    onApproval: () => Promise.reject(new Error("the chat is away")),
    log,
  });
  deliver();
  await connection.next("result");
  connection.send({ type: "resultAck", callId: "call_7" });

  await until(() => log.lines.some(({ message }) => message === "onApproval failed"), "the log line");
  deliver({ attempt: 2, approval: granted() });

  expect(await connection.next("result")).toMatchObject({ outcome: { ok: true } });
});
