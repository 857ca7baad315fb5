import { readFileSync } from "node:fs";
import { accessMatrix, compareAccess, lockOf, parseLock, renderMatrix, type Cell } from "@patchbay/functions/access";
import { expect, test } from "vitest";
import { generateRetailData } from "../data/generate.ts";
import { createRetailDesk } from "../desk.ts";
import { createRetailStore } from "../store.ts";

/**
 * The policy of the desk: which role may call which function. "own" is the customer's own account or order, "limit" an order
 * whose first payment is at most 5000. "asks": a person approves refunds above 100.
 */
const POLICY = `
| function                                                      | none | customer      | agent | manager |
| list_all_product_types, get_product_details, calculate, think | yes  | yes           | yes   | yes     |
| transfer_to_human_agents                                      | yes  | yes           | yes   | yes     |
| find_user_id_by_email, find_user_id_by_name_zip               | no   | no            | yes   | yes     |
| send_order_message                                            | no   | no            | yes   | yes     |
| get_user_details, modify_user_address                         | no   | own           | yes   | yes     |
| get_order_details, get_order_messages                         | no   | own           | yes   | yes     |
| modify_pending_order_address                                  | no   | own           | yes   | yes     |
| modify_pending_order_items, modify_pending_order_payment      | no   | own           | yes   | yes     |
| exchange_delivered_order_items                                | no   | own           | yes   | yes     |
| cancel_pending_order, return_delivered_order_items            | no   | own and limit | limit | yes     |
| grant_goodwill_refund                                         | no   | no            | asks  | yes     |
| reset_store                                                   | no   | no            | no    | yes     |`;

const [header = [], ...rows] = POLICY.trim()
  .split("\n")
  .map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
const roles = header.slice(1);
const policy = rows.flatMap(([names = "", ...words]) => names.split(", ").map((name) => ({ name, words })));

const desk = createRetailDesk(createRetailStore(generateRetailData));
const matrix = await accessMatrix(desk);

/** A cell in the terms of the policy, from the cases that it allows. */
function wordOf(cell: Cell): string {
  if (cell.access === "hidden") return "no";
  if (cell.access !== "conditional") return cell.access === "allowed" ? "yes" : cell.access;
  if (Object.hasOwn(cell.cases, "largeRefund"))
    return cell.cases["largeRefund"]!.decision === "approval" ? "asks" : "yes";
  const { ownOrderAboveLimit, ...cases } = cell.cases;
  const verdicts = Object.entries(cases).map(
    ([name, { decision }]) => [name.startsWith("own"), decision === "allowed"] as const,
  );
  const all = verdicts.every(([, allowed]) => allowed);
  const own = verdicts.every(([isOwn, allowed]) => allowed === isOwn);
  const limit = ownOrderAboveLimit?.decision === "denied";
  if (all) return limit ? "limit" : "yes";
  if (own) return limit ? "own and limit" : "own";
  return JSON.stringify(cell.cases);
}

test("the access matrix of the desk is its policy", () => {
  expect(matrix.roles).toEqual(roles);
  expect(matrix.functions.map(({ name }) => name)).toEqual(policy.map(({ name }) => name).sort());
  expect(matrix.functions).toHaveLength(20);
  for (const { name, words } of policy) {
    const { cells } = matrix.functions.find((row) => row.name === name)!;
    expect([name, ...roles.map((role) => wordOf(cells[role]!))]).toEqual([name, ...words]);
  }
});

test("every conditional function has cases for own, foreign and unknown ids, and for a customer without an id", () => {
  for (const { cells } of matrix.functions) {
    if (cells["customer"]?.access !== "conditional") continue;
    const named = Object.keys(cells["customer"].cases).join(" ");
    for (const word of [/own(Order|Account)/, /foreign/, /unknown/, /withoutCustomerId/]) expect(named).toMatch(word);
  }
});

test("the printed table shows each function with its cells, and the approval that some calls need", () => {
  const lines = renderMatrix(matrix).split("\n");

  for (const line of [
    "calculate                       allowed  allowed      allowed      allowed",
    "cancel_pending_order            hidden   conditional  conditional  conditional  untrusted; order_id trusted",
    "  case ownOrderAboveLimit                denied       denied       allowed",
    "find_user_id_by_email           hidden   hidden       allowed      allowed",
    "  member notes                           removed      sees         sees",
    "send_order_message              hidden   hidden       allowed      allowed      order_id trusted; sends text",
    "reset_store                     hidden   hidden       hidden       allowed",
  ])
    expect(lines).toContain(line);
  expect(lines).toContain("- Some calls of grant_goodwill_refund need the approval of manager.");
  expect(lines.find((line) => line.startsWith("- agent has "))).toMatch(
    /^- agent has 25 pairs of source and sink, 0 proved, 25 open: .*, return_delivered_order_items → cancel_pending_order; .* → send_order_message\.$/,
  );
});

test("access.lock.json is up to date", async () => {
  const lock = parseLock(readFileSync(new URL("../access.lock.json", import.meta.url), "utf8"));

  expect(compareAccess(lock, await lockOf(desk, { matrix }))).toEqual([]);
});
