import { runQuery, scriptedModel } from "@patchbay/functions/testing";
import { expect, test } from "vitest";
import service from "../../examples/quickstart/service.ts";

const NOTE = "third time";

const ask = (role: string) =>
  runQuery(service, {
    query: "What of ticket T-100?",
    role,
    context: { userId: "ada" },
    analysisMode: true,
    model: scriptedModel(["I look it up.", { calls: [["get_ticket", { ticketId: "T-100" }]] }, "It is open."]),
  });

test("a restricted field and its name appear in no output of a query without the role", async () => {
  const { calls, ...seen } = await ask("staff");

  expect(calls).toMatchObject([{ outcome: { ok: true, redacted: ["internalNote"] } }]);
  expect(JSON.stringify(calls)).not.toContain(NOTE);
  expect(seen.answer.toolInteractions).toMatchObject([{ success: true, result: { id: "T-100", status: "open" } }]);
  expect(JSON.stringify(seen)).not.toMatch(new RegExp(`${NOTE}|internalNote|redacted`, "i"));
});

test("a role of a restricted field receives it wherever results are shown", async () => {
  const { answer, events, requests } = await ask("support");

  expect(answer.toolInteractions).toMatchObject([
    { result: { internalNote: expect.stringContaining(NOTE) as string } },
  ]);
  for (const shown of [events, requests]) expect(JSON.stringify(shown)).toContain(NOTE);
});
