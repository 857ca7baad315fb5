import { accessMatchers, callAs, runQuery } from "@patchbay/functions/testing";
import { expect, test } from "vitest";
import service from "./service.ts";

expect.extend(accessMatchers);

const ownLoan = { input: { loanId: "L-100" }, context: { memberId: "ada" } };
const otherLoan = { input: { loanId: "L-101" }, context: { memberId: "ada" } };

test("everyone can find books, and only librarians can extend a loan", async () => {
  await expect(service).toAllow("find_books", { input: { subject: "travel" } });
  await expect(service).toAllow("extend_loan", { role: "librarian", input: { loanId: "L-100" } });
  await expect(service).toDeny("extend_loan", { role: "member", rule: "roles" });
});

test("members read only their own loans", async () => {
  await expect(service).toAllow("get_loan", { role: "member", ...ownLoan });
  await expect(service).toDeny("get_loan", { role: "member", ...otherLoan, rule: "authorize" });
  await expect(service).toDeny("get_loan", { role: "member", input: ownLoan.input, rule: "authorize" });
});

test("only librarians receive the note of a loan", async () => {
  const call = { functionName: "get_loan", ...ownLoan };
  const [member, librarian] = await Promise.all(
    (["member", "librarian"] as const).map((role) => callAs(service, { ...call, role })),
  );

  expect(member).toMatchObject({ ok: true, redacted: ["note"] });
  expect(member).not.toHaveProperty("value.note");
  expect(librarian).toHaveProperty("value.note", "Cover is torn");
});

test("a member asks when a loan is due", async () => {
  // A whole query over HTTP, which can take longer than Vitest's default of 5 seconds on a busy machine. The offline model
  // answers; pass `model` to script the turns of a model.
  const done = await runQuery(service, {
    query: "When is loan L-100 due?",
    role: "member",
    context: { memberId: "ada" },
  });

  expect(done.visibleFunctions).toEqual(["find_books", "get_loan"]);
  expect(done.answer.response).toContain("2027-03-01");
  expect(done).toLeakNothing("Cover is torn");
}, 60_000);
