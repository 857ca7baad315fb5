import { defineService, everyone, FunctionError, functionsFor, visibleTo } from "@patchbay/functions";
import { z } from "zod";
import { addDays, findLoan, searchBooks } from "./library.ts";

// What a query may send as `contextJson`. Your backend sets it after it has signed the member in.
const context = z.object({ memberId: z.string().optional() });
const { defineFunction } = functionsFor(context);

// 1. Open to every query, with or without a role.
const findBooks = defineFunction({
  name: "find_books",
  description: "Finds books of the library by subject, with the copies that are on the shelf.",
  input: z.object({ subject: z.enum(["history", "travel", "cooking", "fiction"]) }),
  roles: everyone,
  effect: "read",
  handler: ({ subject }) => searchBooks(subject),
});

// 2. For one role. For other roles the function does not exist: the model cannot see it, and a call of it fails.
const extendLoan = defineFunction({
  name: "extend_loan",
  description: "Extends a loan by 14 days.",
  input: z.object({ loanId: z.string().describe("Id of the loan, such as L-100") }),
  roles: ["librarian"],
  effect: "write",
  handler: ({ loanId }) => {
    const loan = findLoan(loanId);
    // The model and the caller can read the text of a FunctionError. Other errors stay in the log of this process.
    if (!loan) throw new FunctionError("loan not found");
    loan.dueDate = addDays(loan.dueDate, 14);
    return { id: loan.id, dueDate: loan.dueDate };
  },
});

// 3. For two roles, decided for each call: members read only their own loans.
const getLoan = defineFunction({
  name: "get_loan",
  description: "Gets a loan: its book, its member and the date on which it is due.",
  input: z.object({ loanId: z.string().describe("Id of the loan, such as L-100") }),
  // Only these fields leave this process. For roles other than librarian the note is removed first.
  output: z.object({
    id: z.string(),
    book: z.string(),
    memberId: z.string(),
    dueDate: z.string(),
    note: visibleTo(z.string(), ["librarian"]),
  }),
  roles: ["member", "librarian"],
  authorize: ({ role, context, input }) =>
    role === "librarian" || isOwnLoan(input.loanId, context.memberId) || "Members can read only their own loans.",
  // Typical calls. `patchbay access` checks them without a model, and access.lock.json stores the decisions.
  cases: {
    ownLoan: { input: { loanId: "L-100" }, context: { memberId: "ada" } },
    otherLoan: { input: { loanId: "L-101" }, context: { memberId: "ada" } },
    unknownLoan: { input: { loanId: "L-999" }, context: { memberId: "ada" } },
    withoutMember: { input: { loanId: "L-100" } },
  },
  effect: "read",
  handler: ({ loanId }) => {
    const loan = findLoan(loanId);
    if (!loan) throw new FunctionError("loan not found");
    return loan;
  },
});

function isOwnLoan(loanId: string, memberId: string | undefined): boolean {
  return memberId !== undefined && findLoan(loanId)?.memberId === memberId;
}

export default defineService({
  name: "service-name",
  roles: ["member", "librarian"],
  context,
  functions: [findBooks, extendLoan, getLoan],
  // The playground of `npm run dev` offers these queries.
  exampleQueries: [
    "Which travel books do you have?",
    { query: "When is loan L-100 due?", role: "member", context: { memberId: "ada" } },
    { query: "When is loan L-101 due?", role: "member", context: { memberId: "ada" } },
    { query: "What is the note of loan L-100?", role: "librarian" },
    { query: "Extend loan L-101", role: "librarian" },
  ],
});
