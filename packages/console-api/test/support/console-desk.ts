import { randomUUID } from "node:crypto";
import { defineFunction, defineService, everyone, FunctionError, visibleTo } from "@patchbay/functions";
import type { ConsoleRole } from "@patchbay/protocol/console";
import { z } from "zod";
import { startSystem, type SystemOptions } from "@patchbay/test-support/system";
import { hashSecret } from "@patchbay/server/accounts/secret";
import type { Store } from "@patchbay/engine/ports/store/stores";

/** A shop's functions: one with a marked member, one with a condition, one that fails, and one for managers. */
export const DESK = defineService({
  name: "desk",
  roles: ["manager", "agent", "customer"],
  defaultRole: "customer",
  instructions: "Be exact.",
  functions: [
    defineFunction({
      name: "show_order",
      description: "Shows one order.",
      input: z.object({ id: z.number() }),
      output: z.object({ id: z.number(), cost: visibleTo(z.number(), ["manager"]) }),
      roles: everyone,
      effect: "read",
      handler: async ({ id }) => ({ id, cost: 7 }),
    }),
    defineFunction({
      name: "refund",
      description: "Refunds an order.",
      input: z.object({ amount: z.number() }),
      roles: ["agent", "manager"],
      authorize: ({ role, input }) => role === "manager" || input.amount <= 100,
      handler: async ({ amount }) => ({ refunded: amount }),
    }),
    defineFunction({
      name: "break_down",
      description: "Always fails.",
      input: z.object({}),
      roles: everyone,
      handler() {
        throw new FunctionError("The printer is on fire.");
      },
    }),
    defineFunction({
      name: "close_shop",
      description: "Closes the shop.",
      input: z.object({}),
      roles: ["manager"],
      effect: "destructive",
      handler: async () => "closed",
    }),
  ],
});

export interface Asked {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** A running service with the shop connected, and members of its console in browsers that are signed in. */
export async function openDesk(options: SystemOptions = {}) {
  const system = await startSystem({ service: DESK, ...options });
  const { store, admin } = system.plane;

  async function member(role: ConsoleRole, orgId = system.orgId) {
    const { memberId, secret } = await signedIn(store, orgId, role);
    const cookie = `patchbay-${new URL(system.url).port}=${secret}`;
    function ask(method: string, path: string, { body, headers, signal }: Asked = {}): Promise<Response> {
      return fetch(`${system.url}/api${path}`, {
        method,
        headers: {
          cookie,
          "sec-fetch-site": "same-origin",
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      });
    }
    return {
      memberId,
      cookie,
      ask,
      /** The answer's JSON, of a request that is not refused. */
      async json<T = Record<string, unknown>>(method: string, path: string, asked?: Asked): Promise<T> {
        const response = await ask(method, path, asked);
        const text = await response.text();
        if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
        return (text === "" ? undefined : JSON.parse(text)) as T;
      },
    };
  }

  return {
    ...system,
    store,
    admin,
    member,
    /** Path of the agent. */
    agent: `/agents/${system.agentId}`,
    [Symbol.asyncDispose]: () => system[Symbol.asyncDispose](),
  };
}

/** A session without the sign-in before it, which costs a tenth of a second. */
async function signedIn(store: Store, orgId: string, role: ConsoleRole) {
  const memberId = `mem_${randomUUID()}`;
  const secret = randomUUID();
  const { members, signIn } = store;
  await members.create({ memberId, orgId, email: `${memberId}@example.com`, name: role, role, passwordHash: null });
  await signIn.openSession({ hash: hashSecret(secret), memberId });
  return { memberId, secret };
}
