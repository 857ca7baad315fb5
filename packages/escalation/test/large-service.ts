import { z } from "zod";
import {
  defineService,
  everyone,
  FunctionError,
  functionsFor,
  visibleTo,
  type Access,
  type Service,
} from "@patchbay/runtime";

const ROLES = ["guest", "customer", "agent", "auditor", "manager", "admin"];
const context = z.object({ customerId: z.string().optional() });
const { defineFunction } = functionsFor(context);

const record = z.object({
  id: z.string(),
  owner: z.email(),
  total: z.number(),
  status: z.enum(["open", "closed"]),
  note: visibleTo(z.string(), ["agent", "manager", "admin"]),
  lines: z.array(z.object({ title: z.string().max(40), cost: visibleTo(z.number(), ["manager", "admin"]) })),
  payment: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("card"), number: visibleTo(z.string(), ["admin"]) }),
    z.object({ kind: z.literal("cash"), till: z.string() }),
  ]),
  tags: z.record(z.string(), visibleTo(z.string(), ["auditor", "admin"])),
});

/** 50 functions and six roles with every kind of role list, result and rule. Its handlers must never run. */
export function largeService(): Service {
  const functions = Array.from({ length: 50 }, (_, i) => {
    const listed = ROLES.filter((_, place) => ((i * 7 + 3) >> (place % 4)) % 2 === 1 || place === i % 6);
    return defineFunction({
      name: `${["get", "change", "Remove"][i % 3]}${["_", ".", "-"][i % 3]}record_${i}`,
      description: `Works on records of kind ${i}.`,
      input: z.object({ id: z.string().regex(/^[A-Z]\d+$/), amount: z.number().min(1).max(9).optional() }),
      ...(i % 4 === 3 ? {} : { output: i % 4 === 2 ? z.array(record) : record }),
      roles: i % 10 === 0 ? everyone : listed,
      effect: i % 3 === 0 ? "read" : "write",
      ...(i % 5 === 1 && {
        authorize: ({ role, context, input }: Access<{ id: string }, { customerId?: string | undefined }>) =>
          role === "admin" || (context.customerId !== undefined && input.id === `A${context.customerId.length}`),
        cases: {
          own: { input: { id: "A3" }, context: { customerId: "ann" } },
          foreign: { input: { id: "A4" }, context: { customerId: "ann" } },
        },
      }),
      handler() {
        throw new FunctionError("the real handler ran");
      },
    });
  });
  return defineService({
    name: "large",
    roles: ROLES,
    context,
    subject: ({ customerId }) => customerId,
    functions,
  });
}
