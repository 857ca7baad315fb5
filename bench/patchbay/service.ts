// Copied as JavaScript next to the built packages, so it must not contain TypeScript syntax.
import { defineFunction, defineService } from "@patchbay/functions";
import { z } from "zod";

const lookUpOrder = defineFunction({
  name: "look_up_order",
  description: "Looks up one order: its status, its items and where it is.",
  input: z.object({ orderId: z.string().describe("Id of the order, such as #W100") }),
  roles: ["support", "manager"],
  effect: "read",
  handler: ({ orderId }) => ({
    orderId,
    status: "in transit",
    carrier: "Northern Parcel",
    items: ["desk lamp, brass, 40 W", "bulb, warm white"],
    expected: "2026-11-24",
    lastSeen: "Hamburg, 2026-11-21 04:12",
  }),
});

const echo = defineFunction({
  name: "echo",
  description: "Answers with its input.",
  input: z.object({ text: z.string() }),
  roles: ["manager"],
  effect: "read",
  handler: ({ text }) => ({ text }),
});

// oxlint-disable-next-line import/no-default-export -- the form of a service file
export default defineService({ name: "orders", functions: [lookUpOrder, echo] });
