import { expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, everyone } from "@patchbay/runtime";
import { startTestServer } from "../src/index.ts";

const listHours = defineFunction({
  name: "list_hours",
  description: "Lists the opening hours.",
  input: z.object({}),
  roles: everyone,
  effect: "read",
  handler: () => "08:00 to 18:00",
});

test("the offline model names only the example queries of the caller's role", async () => {
  const service = defineService({
    name: "desk",
    roles: ["support", "customer"],
    functions: [listHours],
    exampleQueries: ["When are you open?", { query: "Refund order 4711", role: "support" }],
  });
  await using server = await startTestServer(service);
  const ask = async (role?: "support" | "customer") => {
    const { answer } = await server.query({ query: "Xyzzy", ...(role !== undefined && { role }) });
    return answer.response;
  };

  const [support, customer, none] = [await ask("support"), await ask("customer"), await ask()];

  expect(support).toContain("- Refund order 4711");
  expect(support).not.toContain("When are you open?");
  expect(customer).not.toContain("For example");
  expect(none).toContain("- When are you open?");
  expect(none).not.toContain("4711");
});
