import { defineFunction, defineService } from "@patchbay/functions";
import { explore } from "@patchbay/access-lab/search/explore";
import { factsOf } from "@patchbay/access-lab/search/facts";
import { judgeOf } from "@patchbay/access-lab/search/judge";
import { expect, test } from "vitest";
import { z } from "zod";
import { startFakeService } from "../../client/test/support/fake-service.ts";
import { storedValues } from "../src/commands/access/gaps.ts";
import type { AccessOptions } from "../src/commands/access/options.ts";

/** The code does not have the id that the search needs. */
const service = defineService({
  name: "shop",
  functions: [
    defineFunction({
      name: "get_order",
      description: "Gets an order.",
      input: z.object({ order: z.string() }),
      roles: ["customer"],
      authorize: ({ input }) =>
        Array.from(input.order, (char) => char.charCodeAt(0)).reduce((sum, code) => sum * 31 + code, 7) === 287_828,
      handler: () => ({}),
    }),
  ],
});

const lines =
  (...calls: object[]) =>
  (response: import("node:http").ServerResponse) =>
    void response.end(calls.map((call) => `${JSON.stringify(call)}\n`).join(""));

test("--from-runs reads values from the calls of a running service, with which the search finds records", async () => {
  await using plane = await startFakeService([
    lines({ arguments: { order: "Q-7" }, context: { shop: "north" } }, { arguments: {}, context: {} }),
    lines({ functionName: "get_order" }),
  ]);
  const options = { fromRuns: "agt_1", url: plane.url, serviceToken: "pst_1", last: 1_000 } as AccessOptions;
  const read = () => storedValues({ path: "service.ts", service, files: new Set() }, options);

  const known = await read();

  expect(known).toEqual({ order: ["Q-7"], shop: ["north"] });
  expect(plane.requests).toMatchObject([
    { path: "/api/agents/agt_1/calls", headers: { authorization: "Bearer pst_1" } },
  ]);
  await expect(read()).rejects.toThrow("The service token lacks the scope calls:content");

  const search = { seed: 1, checks: 300, timeMs: 60_000 };
  const neverAllowed = async (values: typeof known) => {
    const version = { facts: await factsOf(service, new Set(), { known: values }), judge: judgeOf(service) };
    return (await explore(version, search))[0]?.neverAllowed;
  };
  expect(await neverAllowed({})).toEqual(["customer"]);
  expect(await neverAllowed(known)).toEqual([]);
});
