import { everyone } from "@patchbay/functions";
import { z } from "zod";
import { calculate } from "../calculate.ts";
import { defineFunction } from "../context.ts";
import { MANAGERS } from "../policy.ts";
import type { RetailStore } from "../store.ts";

export function generalFunctions(store: RetailStore) {
  return [
    defineFunction({
      name: "calculate",
      description:
        "Calculates an arithmetic expression, such as a sum of prices or a refund, and returns its value rounded to two decimals.",
      input: z.object({
        expression: z
          .string()
          .describe(
            "Numbers, + - * /, parentheses and spaces, such as (12.50 + 3) * 2; no other characters, no currency signs",
          ),
      }),
      output: z.number(),
      roles: everyone,
      effect: "read",
      handler: ({ expression }) => calculate(expression),
    }),

    defineFunction({
      name: "think",
      description: "Notes a thought while working on a difficult request. Looks nothing up and changes nothing.",
      input: z.object({ thought: z.string().describe("The thought to note") }),
      output: z.string(),
      roles: everyone,
      effect: "read",
      handler: () => "",
    }),

    defineFunction({
      name: "transfer_to_human_agents",
      description:
        "Hands the conversation over to a human colleague. Only when the customer asks for a person or when no other function can serve the request.",
      input: z.object({ summary: z.string().describe("A short summary of what the customer needs") }),
      output: z.string(),
      roles: everyone,
      effect: "read",
      handler: () => "Transfer successful",
    }),

    defineFunction({
      name: "reset_store",
      description:
        "Resets the whole shop: loads all users, orders and products again and drops every change made since the start.",
      input: z.object({}),
      output: z.object({ users: z.int(), orders: z.int(), products: z.int() }),
      roles: MANAGERS,
      effect: "destructive",
      targets: "any",
      handler: () => {
        store.reset();
        return { users: store.users.size, orders: store.orders.size, products: store.products.size };
      },
    }),
  ];
}
