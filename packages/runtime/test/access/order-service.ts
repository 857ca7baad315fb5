import { z } from "zod";
import {
  defineFunction,
  defineService,
  everyone,
  visibleTo,
  type FunctionDefinition,
  type Service,
} from "../../src/index.ts";

/** Changes of a test to the order service. */
export interface ServiceChanges {
  cancelRoles?: string[];
  /** Roles that may read orders of other customers. */
  readsAll?: string[];
  noteFor?: string[];
  roles?: string[];
  defaultRole?: string;
  more?: FunctionDefinition[];
  without?: string[];
}

const owners: Record<string, string> = { W1: "ada", W2: "ben" };

/** The handlers that ran. An access check must never run one. */
export const ran: string[] = [];

export function orderService(changes: ServiceChanges = {}): Service {
  const { cancelRoles = ["agent"], readsAll = ["agent"], noteFor = ["agent"], roles, defaultRole, more = [] } = changes;
  const handler = () => {
    ran.push("handler");
    return null as never;
  };
  const functions = [
    defineFunction({
      name: "list_products",
      description: "Lists products.",
      input: z.object({}),
      roles: everyone,
      effect: "read",
      handler,
    }),
    defineFunction({
      name: "cancel_order",
      description: "Cancels an order.",
      input: z.object({ orderId: z.string() }),
      roles: cancelRoles,
      handler,
    }),
    defineFunction({
      name: "get_order_details",
      description: "Gets an order.",
      input: z.object({ orderId: z.string() }),
      output: z.object({ id: z.string(), note: visibleTo(z.string(), noteFor) }),
      roles: ["customer", "agent"],
      authorize({ role = "", context, input }) {
        if (input.orderId === "W0") throw new Error("the database is away");
        return readsAll.includes(role) || owners[input.orderId] === context["customerId"];
      },
      cases: {
        ownOrder: { input: { orderId: "W1" }, context: { customerId: "ada" } },
        foreignOrder: { input: { orderId: "W2" }, context: { customerId: "ada" } },
      },
      effect: "read",
      handler,
    }),
    ...more,
  ].filter(({ manifest }) => !changes.without?.includes(manifest.name));
  return defineService({ name: "desk", functions, ...(roles && { roles }), ...(defaultRole && { defaultRole }) });
}
