import { defineFunction, defineService, everyone, FunctionError, functionsFor, visibleTo } from "@patchbay/functions";
import { z } from "zod";

// Your data: any database, API or file that this process can reach.
const tickets = new Map([
  [
    "T-100",
    {
      id: "T-100",
      owner: "ada",
      title: "The printer prints blank pages",
      status: "open",
      internalNote: "Jams for the third time",
    },
  ],
  ["T-101", { id: "T-101", owner: "ben", title: "New laptop for the front desk", status: "open", internalNote: "" }],
]);

// 1. Open to everyone, with or without a role.
const listOpeningHours = defineFunction({
  name: "list_opening_hours",
  description: "Lists the opening hours of the help desk.",
  input: z.object({}),
  roles: everyone,
  effect: "read",
  handler: () => ({ weekdays: "08:00 to 18:00", weekend: "closed" }),
});

// 2. For one role. For every other role, this function does not exist.
const closeTicket = defineFunction({
  name: "close_ticket",
  description: "Closes a ticket of the help desk.",
  input: z.object({ ticketId: z.string().describe("Id of the ticket, such as T-100") }),
  roles: ["support"],
  effect: "write",
  handler: ({ ticketId }) => Object.assign(findTicket(ticketId), { status: "closed" }),
});

// 3. For two roles, decided for each call: staff see only their own tickets. The userId comes from the query's contextJson.
const context = z.object({ userId: z.string().optional() });

const getTicket = functionsFor(context).defineFunction({
  name: "get_ticket",
  description: "Gets a ticket of the help desk: its title, owner and status.",
  input: z.object({ ticketId: z.string().describe("Id of the ticket, such as T-100") }),
  // Only these properties are sent. The note is for support: it is removed for staff before the result leaves this process.
  output: z.object({
    id: z.string(),
    owner: z.string(),
    title: z.string(),
    status: z.string(),
    internalNote: visibleTo(z.string(), ["support"]),
  }),
  roles: ["staff", "support"],
  authorize: ({ role, context, input }) => role === "support" || isOwn(input.ticketId, context.userId),
  // `patchbay access` checks these cases without a model; access.lock.json stores the decisions.
  cases: {
    ownTicket: { input: { ticketId: "T-100" }, context: { userId: "ada" } },
    foreignTicket: { input: { ticketId: "T-101" }, context: { userId: "ada" } },
    unknownTicket: { input: { ticketId: "T-999" }, context: { userId: "ada" } },
    withoutUser: { input: { ticketId: "T-100" } },
  },
  effect: "read",
  handler: ({ ticketId }) => findTicket(ticketId),
});

function isOwn(ticketId: string, userId: string | undefined) {
  return userId !== undefined && tickets.get(ticketId)?.owner === userId;
}

function findTicket(ticketId: string) {
  const ticket = tickets.get(ticketId);
  // The model and the caller read the text of a FunctionError; other errors stay in this process's log.
  if (!ticket) throw new FunctionError("ticket not found");
  return ticket;
}

export default defineService({
  name: "quickstart",
  context,
  functions: [listOpeningHours, closeTicket, getTicket],
  // `patchbay dev` and the playground of the console offer these.
  exampleQueries: [
    "What are the opening hours?",
    { query: "What is the status of ticket T-100?", role: "staff", context: { userId: "ada" } },
    { query: "Close ticket T-101", role: "support" },
  ],
});
