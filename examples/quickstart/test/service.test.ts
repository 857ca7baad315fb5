import { silentLog, type JsonObject } from "@patchbay/functions";
import { startTestServer } from "@patchbay/functions/testing";
import { expect, test } from "vitest";
import service from "../service.ts";

function call(functionName: string, args: JsonObject, role?: string, context: JsonObject = {}) {
  const ids = { threadId: "thr_1", runId: "run_1", callId: "call_1", attempt: 1, timeoutMs: 10_000 };
  return service.invoke(
    { functionName, arguments: args, context, ...ids, ...(role === undefined ? {} : { role }) },
    { signal: new AbortController().signal, log: silentLog },
  );
}

test("everyone may list the opening hours", async () => {
  expect(await call("list_opening_hours", {})).toMatchObject({ ok: true });
});

test("staff get only their own ticket; foreign and unknown ones are denied alike", async () => {
  const ada = { userId: "ada" };
  expect(await call("get_ticket", { ticketId: "T-100" }, "staff", ada)).toMatchObject({ ok: true });
  for (const ticketId of ["T-101", "T-999"]) {
    expect(await call("get_ticket", { ticketId }, "staff", ada)).toMatchObject({ ok: false, code: "denied" });
    expect(await call("get_ticket", { ticketId }, "staff")).toMatchObject({ ok: false, code: "denied" });
  }
});

test("support gets and closes any ticket", async () => {
  expect(await call("close_ticket", { ticketId: "T-101" }, "staff")).toMatchObject({ code: "unknown_function" });
  expect(await call("close_ticket", { ticketId: "T-101" }, "support")).toMatchObject({ value: { status: "closed" } });
  expect(await call("get_ticket", { ticketId: "T-101" }, "support")).toMatchObject({ value: { status: "closed" } });
  expect(await call("get_ticket", { ticketId: "T-999" }, "support")).toMatchObject({ message: "ticket not found" });
});

test("only support receives the internal note of a ticket", async () => {
  const [staff, support] = await Promise.all(
    ["staff", "support"].map((role) => call("get_ticket", { ticketId: "T-100" }, role, { userId: "ada" })),
  );

  expect(staff).toMatchObject({ ok: true, value: { id: "T-100" }, redacted: ["internalNote"] });
  expect(JSON.stringify(staff)).not.toContain("third time");
  expect(support).toMatchObject({ value: { internalNote: "Jams for the third time" } });
});

test("each example query calls its function and is answered from the ticket", async () => {
  await using server = await startTestServer(service);
  const answers = [];
  for (const example of service.manifest.exampleQueries ?? []) {
    const { answer } = await server.query(example);
    answers.push([answer.toolInteractions.map(({ toolName, success }) => [toolName, success]), answer.response]);
  }

  expect(answers).toEqual([
    [[["list_opening_hours", true]], expect.stringContaining("08:00 to 18:00")],
    [[["get_ticket", true]], expect.stringContaining("**Status:** open (T-100)")],
    [[["close_ticket", true]], expect.stringContaining("Done: **Close ticket** (T-101).")],
  ]);
});
