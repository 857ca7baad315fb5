import { defineFunction, defineService } from "@patchbay/functions";

/**
 * A service that keeps the trail of each call: `checked` where the gate asked the owner's rule, `ran` where a handler began.
 * `look_up` is for clerks; `wipe_all` is for the one role that no test takes.
 */
export function createGateDesk() {
  const trail: string[] = [];
  const begun = Promise.withResolvers<void>();

  function define(name: string, roles: string[], handler: (attempt: number) => unknown) {
    return defineFunction({
      name,
      description: `Does ${name}.`,
      input: { type: "object" },
      roles,
      idempotent: true,
      authorize({ role }) {
        trail.push(`checked ${name} as ${role}`);
        return true;
      },
      handler(_input, { attempt }) {
        trail.push(`ran ${name}`);
        return handler(attempt);
      },
    });
  }

  let holding = false;
  const service = defineService({
    name: "gate",
    functions: [
      define("look_up", ["clerk"], async (attempt) => {
        begun.resolve();
        if (holding && attempt === 1) await new Promise(() => {});
        return "found";
      }),
      define("wipe_all", ["owner"], () => "wiped"),
    ],
  });
  return {
    service,
    trail,
    /** Resolves when `look_up` began for the first time. */
    begun: begun.promise,
    /** From now on the first attempt of a call never ends. */
    hold: () => void (holding = true),
  };
}

/** The trail of one allowed call, and of a forbidden one beside it, which leaves none. */
export const ONE_PASSAGE = ["checked look_up as clerk", "ran look_up"];
