import { startControlPlane, type StartedControlPlane } from "@patchbay/control-plane/admin";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, everyone, visibleTo } from "@patchbay/functions";
import { attackService, ADAPTER_ATTACKS } from "@patchbay/escalation/suite";
import type { StartPlanes } from "@patchbay/test-kit/local-server";
import { startIssuer } from "@patchbay/test-support/issuer";
import { testNats } from "@patchbay/test-support/nats";
import { testDatabase } from "@patchbay/test-support/postgres";

const orders = {
  own: { input: { order: "1" }, context: { userId: "ada" } },
  foreign: { input: { order: "2" }, context: { userId: "ada" } },
};
const owners: Record<string, string> = { "1": "ada" };

/** A function of each kind: with `authorize` and a restricted field, with a role list, with approvals, and open to everyone. */
const desk = defineService({
  name: "desk",
  roles: ["customer", "manager"],
  context: z.object({ userId: z.string().optional() }),
  functions: [
    defineFunction({
      name: "get_order",
      description: "Gets an order.",
      input: z.object({ order: z.string() }),
      output: z.object({ margin: visibleTo(z.number(), ["manager"]), note: z.string() }),
      roles: ["customer", "manager"],
      authorize: ({ role, context, input }) => role === "manager" || owners[input.order] === context["userId"],
      cases: orders,
      handler: () => ({ margin: 0, note: "" }),
    }),
    defineFunction({
      name: "erase",
      description: "Erases every order.",
      input: z.object({}),
      roles: ["manager"],
      handler: () => "",
    }),
    defineFunction({
      name: "refund",
      description: "Refunds an order.",
      input: z.object({ amount: z.number() }),
      roles: ["customer", "manager"],
      approval: { by: ["manager"] },
      handler: () => "",
    }),
    defineFunction({
      name: "hours",
      description: "Returns the opening hours.",
      input: z.object({}),
      roles: everyone,
      handler: () => "9 to 5",
    }),
  ],
});

test("the adapters have no findings on two replicas: one with the runtime, another with the queries", async ({
  skip,
}) => {
  const nats = await testNats();
  if (nats === undefined) return skip();
  await using database = await testDatabase();
  await using issuer = await startIssuer();
  const callers = { issuer: issuer.url, audience: issuer.audience, roleClaim: "role" };
  const planes: StartedControlPlane[] = [];
  const startPlanes: StartPlanes = async (options) => {
    const start = () => startControlPlane({ ...options, database: database.url, nats, callers });
    const started: [StartedControlPlane, StartedControlPlane] = [await start(), await start()];
    planes.push(...started);
    return started;
  };

  const report = await attackService(desk, { attacks: ADAPTER_ATTACKS, startPlanes });

  expect(report.findings).toEqual([]);
  expect(planes).toHaveLength(2);
  const untried = report.results.filter(({ role, attempts }) => attempts === 0 && role !== null);
  expect(untried.map(({ role, attack }) => `${role}: ${attack}`)).toEqual([]);
});
