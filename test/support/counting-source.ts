import { fileURLToPath } from "node:url";

const functionsPackage = fileURLToPath(import.meta.resolve("@patchbay/functions"));

/**
 * Source of a service whose functions first record each of their runs in the file `function-runs` of `folder`. A call for an id
 * that begins with `held` ends once the file `gate-<id>` exists; other calls end immediately. Calls of `flaky` and `flaky_charge`
 * fail with an error that asks for another attempt. A manager approves each call of `approved_charge`, and the role of the query each of `confirmed_charge`. `export_all` and `charge_all` are detached. `charged`, `uncharged` and `unclear` are named after what they know of an interrupted call.
 */
export function countingSource(folder: string): string {
  return `
import { appendFileSync, existsSync } from "node:fs";
import { defineFunction, defineService, everyone, RetryableError } from ${JSON.stringify(functionsPackage)};

const folder = ${JSON.stringify(folder)};
const input = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };

/** A charge whose book says what an earlier attempt did. */
function reconciled(name, answer) {
  const reconcile = ({ callId, input }) => {
    appendFileSync(folder + "/function-runs", JSON.stringify({ name: "reconcile", id: input.id, callId, attempt: 0, pid: process.pid }) + "\\n");
    return answer;
  };
  return counted(name, { reconcile });
}

function counted(name, { fails = false, ...more }) {
  return defineFunction({
    name,
    description: "Does " + name + " for an id.",
    input,
    roles: everyone,
    ...more,
    async handler({ id }, { callId, attempt, signal }) {
      appendFileSync(folder + "/function-runs", JSON.stringify({ name, id, callId, attempt, pid: process.pid }) + "\\n");
      while (id.startsWith("held") && !existsSync(folder + "/gate-" + id)) {
        signal.throwIfAborted();
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      if (name === "limited") appendFileSync(folder + "/function-runs", JSON.stringify({ name: "limited-end", id, callId, attempt, pid: process.pid }) + "\\n");
      if (fails) throw new RetryableError({ afterMs: 2_000, message: name + " is busy" });
      return { did: name, id };
    },
  });
}

export default defineService({
  name: "counting",
  roles: ["clerk", "manager"],
  functions: [
    counted("charge", {}),
    counted("fetch_record", { idempotent: true, effect: "read" }),
    counted("flaky", { effect: "read", retries: { max: 3 }, fails: true }),
    counted("flaky_charge", { fails: true }),
    counted("export_all", { idempotent: true, detached: true }),
    counted("charge_all", { detached: true }),
    counted("limited", { concurrency: 2, effect: "read" }),
    counted("approved_charge", { approval: { by: ["manager"], edit: ["id"] } }),
    counted("confirmed_charge", { approval: { by: ["caller"], edit: ["id"] } }),
    reconciled("charged", { done: true, result: { did: "found" } }),
    reconciled("uncharged", { done: false }),
    reconciled("unclear", "unknown"),
  ],
});
`;
}
