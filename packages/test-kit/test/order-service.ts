import { z } from "zod";
import { defineService, everyone, FunctionError, functionsFor, type Service } from "@patchbay/runtime";

const context = z.object({ customerId: z.string().optional() });
const { defineFunction } = functionsFor(context);

export const ORDERS: Record<string, { owner: string; note: string }> = {
  "1": { owner: "ann", note: "gift" },
  "2": { owner: "bob", note: "fragile" },
};

/** A service with each kind of rule. `ran` lists the handlers that ran. */
export function orderService(ran: string[] = []): Service {
  return defineService({
    name: "orders",
    roles: ["customer", "manager"],
    context,
    subject: ({ customerId }) => customerId,
    functions: [
      defineFunction({
        name: "get_order",
        description: "Gets an order by its number.",
        input: z.object({ order: z.string() }),
        roles: ["customer", "manager"],
        effect: "read",
        authorize: ({ role, context, input }) =>
          role === "manager" || ORDERS[input.order]?.owner === context.customerId || "Not permitted: not your order.",
        handler({ order }) {
          ran.push("get_order");
          const found = ORDERS[order];
          if (!found) throw new FunctionError("order not found");
          return found;
        },
      }),
      defineFunction({
        name: "erase_orders",
        description: "Erases every order.",
        input: z.object({}),
        roles: ["manager"],
        effect: "destructive",
        handler() {
          ran.push("erase_orders");
          return "erased";
        },
      }),
      defineFunction({
        name: "opening_hours",
        description: "Returns the opening hours.",
        input: z.object({}),
        roles: everyone,
        effect: "read",
        handler: () => "9 to 5",
      }),
    ],
  });
}
