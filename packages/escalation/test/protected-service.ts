import { z } from "zod";
import {
  defineService,
  everyone,
  functionsFor,
  type RoleDefinitions,
  type Service,
  visibleTo,
} from "@patchbay/runtime";

const context = z.object({ customerId: z.string().optional() });
const { defineFunction } = functionsFor(context);

/** A function of each kind: open to everyone, with a role list, with `authorize`, with a restricted field. */
export function protectedService(roles: RoleDefinitions = { customer: {}, agent: {}, manager: {} }): Service {
  return defineService({
    name: "restricted-fields",
    roles,
    context,
    functions: [
      defineFunction({
        name: "get_order",
        description: "Gets an order.",
        input: z.object({ order: z.string() }),
        output: z.object({ order: z.string(), margin: visibleTo(z.number(), ["manager"]), note: z.string() }),
        roles: ["customer", "agent", "manager"],
        effect: "read",
        authorize: ({ role, context }) => role !== "customer" || context.customerId === "bob",
        cases: {
          own: { input: { order: "1" }, context: { customerId: "bob" } },
          foreign: { input: { order: "1" }, context: { customerId: "eve" } },
        },
        handler: () => ({ order: "", margin: 0, note: "" }),
      }),
      defineFunction({
        name: "erase_orders",
        description: "Erases every order.",
        input: z.object({}),
        roles: ["manager"],
        effect: "destructive",
        handler: () => "",
      }),
      defineFunction({
        name: "opening_hours",
        description: "Returns the opening hours.",
        input: z.object({}),
        roles: everyone,
        effect: "read",
        handler: () => "",
      }),
    ],
  });
}
