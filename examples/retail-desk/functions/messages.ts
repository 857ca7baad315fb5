import { secret, untrusted, visibleTo } from "@patchbay/functions";
import { z } from "zod";
import type { DeskCases } from "../cases.ts";
import { defineFunction } from "../context.ts";
import { DESK, STAFF, type DeskPolicy } from "../policy.ts";
import { conversationAbout, type RetailStore } from "../store.ts";
import { orderId } from "./parameters.ts";

export function messageFunctions(store: RetailStore, policy: DeskPolicy, cases: DeskCases) {
  return [
    defineFunction({
      name: "get_order_messages",
      description:
        "Gets the messages that the customer and the desk wrote about an order, the oldest first, and the desk's internal notes.",
      input: z.object({ order_id: orderId }),
      output: z.object({
        messages: z.array(z.object({ from: z.enum(["customer", "desk"]), text: untrusted(z.string()) })),
        notes: visibleTo(z.array(secret(z.string())), STAFF),
      }),
      roles: DESK,
      authorize: policy.ownOrder,
      cases: cases.order({}),
      effect: "read",
      handler: ({ order_id }) => structuredClone(conversationAbout(store, order_id)),
    }),

    defineFunction({
      name: "send_order_message",
      description: "Sends a message about an order to its customer.",
      input: z.object({ order_id: orderId, text: z.string().max(1000).describe("The message to the customer") }),
      output: z.object({ messages: z.int() }),
      roles: STAFF,
      effect: "write",
      targets: { order_id: "trusted" },
      sends: ["text"],
      handler({ order_id, text }) {
        const { messages } = conversationAbout(store, order_id);
        return { messages: messages.push({ from: "desk", text }) };
      },
    }),
  ];
}
