import { defineFunction, defineService, visibleTo } from "@patchbay/functions";
import { z } from "zod";
import { startSystem, type SystemOptions } from "@patchbay/test-support/system";

function createDesk() {
  const started = Promise.withResolvers<AbortSignal>();
  const seen = new AbortController();
  const progressSeen = seen.signal;
  const service = defineService({
    name: "desk",
    functions: [
      defineFunction({
        name: "orders.find",
        title: "Find an order",
        description: "Finds one order.",
        input: z.object({ id: z.string() }),
        output: z.object({ id: z.string(), cost: visibleTo(z.number(), ["manager"]) }),
        roles: "everyone",
        effect: "read",
        handler: ({ id }) => ({ id, cost: 5 }),
      }),
      defineFunction({
        name: "numbers",
        description: "Lists numbers.",
        input: z.object({}),
        output: z.array(z.number()),
        roles: ["clerk", "manager"],
        effect: "read",
        handler: () => [1, 2],
      }),
      defineFunction({
        name: "refund",
        description: "Refunds an order.",
        input: z.object({ amount: z.number() }),
        roles: ["manager"],
        effect: "destructive",
        idempotent: true,
        approval: { by: ["caller"], edit: ["amount"] },
        handler: ({ amount }) => ({ refunded: amount }),
      }),
      defineFunction({
        name: "close_books",
        description: "Closes the books, which takes two people.",
        input: z.object({}),
        roles: ["auditor"],
        effect: "write",
        approval: { by: ["caller"], fourEyes: true },
        handler: () => null,
      }),
      defineFunction({
        name: "slow",
        description: "Takes long.",
        input: z.object({}),
        roles: ["clerk"],
        handler: async (_input, { signal, progress }) => {
          progress({ progress: 1, total: 3, message: "begun" });
          progress("still at it");
          started.resolve(signal);
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          return null;
        },
      }),
      defineFunction({
        name: "steps",
        description: "Reports its steps.",
        input: z.object({}),
        roles: ["clerk"],
        handler: async (_input, { progress }) => {
          // Progress is live: what is reported before the client follows the call is not sent to it.
          for (let step = 1; !progressSeen.aborted; step++) {
            progress({ progress: step, total: 100, message: "counted" });
            progress("uncounted");
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
          return "done";
        },
      }),
      defineFunction({
        name: "fails",
        description: "Fails.",
        input: z.object({}),
        roles: "everyone",
        handler: () => {
          throw new Error("secret detail");
        },
      }),
    ],
  });
  return {
    service,
    started: started.promise,
    /** Lets `steps` end. */
    seen: () => seen.abort(),
  };
}

/** A running system whose functions show what MCP makes of each kind. */
export async function startDesk(options: SystemOptions = {}) {
  const desk = createDesk();
  const system = await startSystem({ service: desk.service, ...options });
  return { ...system, ...desk, [Symbol.asyncDispose]: () => system[Symbol.asyncDispose]() };
}

/** A desk with a key that may decide approvals. */
export async function startApproving(options: SystemOptions = {}) {
  const system = await startDesk(options);
  const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, can: ["approve"] });
  return { ...system, apiKey, [Symbol.asyncDispose]: () => system[Symbol.asyncDispose]() };
}
