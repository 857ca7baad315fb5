import { defineService, type Service } from "@patchbay/functions";
import { createDeskCases } from "./cases.ts";
import { deskContext } from "./context.ts";
import { createExampleQueries } from "./example-queries.ts";
import { generalFunctions } from "./functions/general.ts";
import { goodwillFunctions } from "./functions/goodwill.ts";
import { messageFunctions } from "./functions/messages.ts";
import { orderFunctions } from "./functions/orders.ts";
import { pendingOrderFunctions } from "./functions/pending-orders.ts";
import { productFunctions } from "./functions/products.ts";
import { userFunctions } from "./functions/users.ts";
import { createDeskPolicy, DESK, MANAGERS } from "./policy.ts";
import type { RetailStore } from "./store.ts";

const INSTRUCTIONS = `You work at the support desk of a retail shop.
- Authenticate first: before anything about an account, know who the customer is. Where the context names a customerId, that is the customer. Otherwise find the user id by e-mail address, or by first name, last name and zip code.
- Serve one customer per conversation, with any number of requests. Refuse requests about another customer.
- Before you change anything, list the details of the change and get a clear yes.
- Items of an order can be modified or exchanged only once, so collect every item that shall change before you call.
- Invent nothing: say only what the functions returned or the customer wrote, and promise nothing else.
- Transfer to a human agent only when no function can serve the request.`;

/** The support desk for the records of `store`: all functions, guarded by the desk's policy. */
export function createRetailDesk(store: RetailStore): Service {
  const policy = createDeskPolicy(store);
  const cases = createDeskCases(store);
  return defineService({
    name: "retail-desk",
    roles: DESK,
    context: deskContext,
    subject: ({ customerId }) => customerId,
    modelContext: ({ customerId }) => (customerId === undefined ? undefined : { customerId }),
    // Only counted and shown: `patchbay agents update --flows ask` lets managers decide.
    flows: { mode: "report", by: MANAGERS },
    instructions: INSTRUCTIONS,
    exampleQueries: createExampleQueries(store),
    functions: [
      ...userFunctions(store, policy, cases),
      ...orderFunctions(store, policy, cases),
      ...pendingOrderFunctions(store, policy, cases),
      ...goodwillFunctions(store, cases),
      ...messageFunctions(store, policy, cases),
      ...productFunctions(store),
      ...generalFunctions(store),
    ],
  });
}
