import { expect, test } from "vitest";
import { z } from "zod";
import { accessMatrix, explainAccess, renderMatrix } from "../../src/access/index.ts";
import { defineFunction, defineService } from "../../src/index.ts";
import { accessMatchers } from "@patchbay/test-kit";

expect.extend(accessMatchers);

const ran: string[] = [];
const base = { description: "x", roles: ["support", "manager"], handler: () => void ran.push("handler") };
const amount = z.object({ amount: z.number() });
const limit = ({ input }: { input: { amount: number } }) => {
  if (input.amount === 0) throw new Error("the limits are away");
  return input.amount > 100 && "Above 100.";
};
const service = defineService({
  name: "desk",
  functions: [
    defineFunction({ ...base, name: "erase", input: z.object({}), approval: { by: ["manager", "caller"] } }),
    defineFunction({
      ...base,
      name: "refund",
      input: amount,
      authorize: ({ input }) => input.amount <= 500,
      approval: { by: ["manager"], when: limit },
      cases: Object.fromEntries(
        Object.entries({ broken: 0, small: 50, large: 300, excessive: 501 }).map(([name, one]) => [
          name,
          { input: { amount: one } },
        ]),
      ),
    }),
    defineFunction({ ...base, name: "credit", input: amount, approval: { by: ["manager"], when: limit } }),
  ],
});

const rowsOf = async () => Object.fromEntries((await accessMatrix(service)).functions.map((row) => [row.name, row]));

test("a function whose every call needs an approval has a cell of its own", async () => {
  const { erase } = await rowsOf();

  expect(erase?.cells).toEqual({
    none: { access: "hidden" },
    manager: { access: "approval", hides: [], by: ["manager", "caller"] },
    support: { access: "approval", hides: [], by: ["manager", "caller"] },
  });
});

test("a case is allowed, needs an approval or is denied", async () => {
  const { refund, credit } = await rowsOf();

  expect(refund?.cells["support"]).toEqual({
    access: "conditional",
    hides: [],
    cases: {
      broken: {
        decision: "denied",
        rule: "approval",
        message: expect.stringMatching(/^The function failed/),
        note: "when of the approval threw Error: the limits are away",
      },
      excessive: { decision: "denied", rule: "authorize", message: "This call is not permitted." },
      large: { decision: "approval", rule: "approval", message: "Above 100." },
      small: { decision: "allowed", rule: "allowed" },
    },
  });
  expect(credit?.cells["support"]).toMatchObject({ access: "conditional", cases: {} });
  expect(ran).toEqual([]);
});

test("the printed matrix names who approves", async () => {
  const lines = renderMatrix(await accessMatrix(service)).split("\n");

  expect(lines).toContain("erase             hidden  approval     approval");
  expect(lines).toContain("  case large              approval     approval");
  expect(lines).toContain("- A call of erase needs the approval of manager or caller.");
  expect(lines).toContain("- Some calls of credit need the approval of manager.");
  expect(lines).toContain("- Some calls of refund need the approval of manager.");
  expect(lines).toContain("- Conditional, without cases: credit.");
});

const explain = (functionName: string, given?: number) =>
  explainAccess(service, { functionName, role: "support", ...(given !== undefined && { input: { amount: given } }) });

test("the explanation of a call says that a person must approve it", async () => {
  const allows = (name: string) => `The role list of ${name} (support, manager) allows role support`;

  expect(await explain("erase")).toMatchObject({
    decision: "approval",
    rule: "approval",
    sentence: `${allows("erase")}, and every call needs the approval of manager or caller.`,
  });
  expect(await explain("credit")).toMatchObject({
    decision: "depends",
    rule: "approval",
    sentence: `${allows("credit")}, and when decides which calls need the approval of manager. Give the arguments to evaluate it.`,
  });
  expect(await explain("refund")).toMatchObject({
    decision: "depends",
    rule: "authorize",
    sentence: `${allows("refund")}, and authorize decides each call, and some calls need the approval of manager. Give the arguments to evaluate it.`,
  });
  expect(await explain("refund", 300)).toMatchObject({
    decision: "approval",
    rule: "approval",
    sentence: `${allows("refund")}, the arguments are valid, authorize allows the call, and manager must approve it: Above 100.`,
  });
  expect(await explain("refund", 50)).toMatchObject({ decision: "allowed" });
  expect(await explain("refund", 501)).toMatchObject({ decision: "denied", rule: "authorize" });
  expect(await explain("refund", 0)).toMatchObject({
    decision: "denied",
    rule: "approval",
    sentence: `${allows("refund")}, but the approval of the call was refused: when of the approval threw Error: the limits are away, which denies the call.`,
  });
});

test("toNeedApproval passes if every rule allows the call and a person must approve it", async () => {
  const as = (given: number, more = {}) => ({ role: "support", input: { amount: given }, ...more });

  await expect(service).toNeedApproval("refund", as(300));
  await expect(service).toNeedApproval("refund", as(300, { by: "manager" }));
  await expect(service).not.toNeedApproval("refund", as(300, { by: "support" }));
  await expect(service).not.toNeedApproval("refund", as(50));
  await expect(service).not.toNeedApproval("refund", as(501));
  await expect(service).not.toAllow("refund", as(300));
  await expect(service).not.toDeny("refund", as(300));
  await expect(expect(service).toAllow("refund", as(300))).rejects.toThrow(
    "refund as support to be allowed, but manager must approve it: Above 100.",
  );
  await expect(expect(service).toNeedApproval("refund", as(50))).rejects.toThrow("but every rule allowed it");
  await expect(expect(service).toNeedApproval("refund", as(0))).rejects.toThrow("proves nothing");
});
