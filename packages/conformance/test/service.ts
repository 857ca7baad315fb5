import { defineFunction, defineService, everyone } from "@patchbay/functions";
import { z } from "zod";

/** The functions of the kit for the runtime of this repository. */
const numbers = new Map<string, number>();

function add(key: string, by: number): number {
  const sum = (numbers.get(key) ?? 0) + by;
  numbers.set(key, sum);
  return sum;
}

const shared = {
  description: "Serves the conformance kit.",
  input: z.object({ key: z.string(), by: z.number() }),
  roles: everyone,
  effect: "read",
} as const;

export default defineService({
  name: "conformance",
  functions: [
    defineFunction({ ...shared, name: "count", handler: ({ key, by }) => add(key, by) }),
    defineFunction({
      ...shared,
      name: "hold",
      detached: true,
      async handler({ key }, { signal }) {
        add(key, 1);
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        add(key, 10);
      },
    }),
    defineFunction({
      ...shared,
      name: "throw",
      handler() {
        throw new Error("secret of the handler");
      },
    }),
    defineFunction({ ...shared, name: "large", handler: () => "x".repeat(300_000) }),
    defineFunction({
      ...shared,
      name: "progress",
      handler(_, { progress }) {
        for (let done = 0; done < 1_000; done++) progress({ done });
        return null;
      },
    }),
    defineFunction({ ...shared, name: "restricted", roles: ["conformance"], handler: () => true }),
  ],
});
