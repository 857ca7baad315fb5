import { defineFunction, defineService } from "@patchbay/functions";

/**
 * A service that records a trace of each call: `checked` when the gate ran `authorize`, `seen` when `beforeCall` saw it, `ran` when a handler started.
 * `look_up` is for clerks; `wipe_all` is for a role that no test uses.
 */
export function createTracedService() {
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
    beforeCall({ functionName, role }) {
      trail.push(`seen ${functionName} as ${role}`);
      return undefined;
    },
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
    /** Resolves when `look_up` first starts. */
    begun: begun.promise,
    /** From now on the first attempt of a call never ends. */
    hold: () => void (holding = true),
  };
}

/** The trace of one allowed call and a denied one, which leaves none. */
export const ALLOWED_TRACE = ["checked look_up as clerk", "seen look_up as clerk", "ran look_up"];
