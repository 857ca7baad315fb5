import { fileURLToPath } from "node:url";

const functionsPackage = fileURLToPath(new URL("../../packages/functions/src/index.ts", import.meta.url));

/**
 * Source of a service whose functions first record each of their runs in the file `function-runs` of `folder`. A call for an id
 * that begins with `held` ends once the file `gate-<id>` exists; other calls end immediately.
 */
export function countingSource(folder: string): string {
  return `
import { appendFileSync, existsSync } from "node:fs";
import { defineFunction, defineService, everyone } from ${JSON.stringify(functionsPackage)};

const folder = ${JSON.stringify(folder)};
const input = { type: "object", properties: { id: { type: "string" } }, required: ["id"] };

function counted(name, more) {
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
      return { did: name, id };
    },
  });
}

export default defineService({
  name: "counting",
  functions: [counted("charge", {}), counted("fetch_record", { idempotent: true, effect: "read" })],
});
`;
}
