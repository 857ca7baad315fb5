import { fileURLToPath } from "node:url";
import { openStore, violations } from "@patchbay/control-plane/admin";
import { expect, test } from "vitest";
import { until } from "@patchbay/test-support/inbox";
import { testDatabase } from "@patchbay/test-support/postgres";
import { type ScriptedCall, startStandIn } from "@patchbay/test-support/providers";
import { startDeployment } from "../support/processes.ts";

const functionsPackage = fileURLToPath(import.meta.resolve("@patchbay/functions"));

/** Mails of strangers, the owner's contacts, and payments, which are recorded in the file `function-runs`. */
const bankSource = (folder: string): string => `
import { appendFileSync } from "node:fs";
import { defineFunction, defineService } from ${JSON.stringify(functionsPackage)};

const text = { type: "string" };
const input = (properties) => ({ type: "object", properties, required: Object.keys(properties) });
const read = { roles: ["user"], effect: "read" };

export default defineService({
  name: "bank",
  flows: { mode: "ask", by: ["caller"] },
  functions: [
    defineFunction({
      ...read,
      name: "read_inbox",
      description: "Returns all mails.",
      input: input({}),
      output: { type: "array", items: input({ account: { ...text, "x-untrusted": true } }) },
      handler: () => [{ account: "acc-666" }, { account: "acc-771" }],
    }),
    defineFunction({
      ...read,
      name: "find_contact",
      description: "Returns a contact.",
      input: input({ name: text }),
      output: input({ name: text, account: text }),
      handler: ({ name }) => ({ name, account: "acc-of-" + name.toLowerCase() }),
    }),
    defineFunction({
      name: "pay_bill",
      description: "Pays an account.",
      input: input({ account: text }),
      roles: ["user"],
      effect: "destructive",
      targets: { account: "trusted" },
      handler({ account: id }) {
        appendFileSync(${JSON.stringify(folder)} + "/function-runs", JSON.stringify({ name: "pay_bill", id }) + "\\n");
        return { id };
      },
    }),
  ],
});
`;

const QUERY = "Read my mail, then pay Bob. Is acc-771 fraud?";
const pay = (account: string): ScriptedCall => ({ name: "pay_bill", arguments: { account } });
/** The results, the caller's contact, and what the mails want, turn by turn. */
const TURNS: ScriptedCall[][] = [
  [
    { name: "read_inbox", arguments: {} },
    { name: "find_contact", arguments: { name: "Bob" } },
  ],
  [pay("acc-of-bob")],
  [pay("acc-666"), pay("acc-771")],
];
const MODES = ["ask", "deny"];

const PLACES = {
  SQLite: async () => ({ url: undefined, [Symbol.asyncDispose]: async () => {} }),
  Postgres: () => testDatabase(),
};
const CASES = Object.entries(PLACES).flatMap(([place, open]) =>
  (["control plane", "runtime"] as const).map((victim) => ({ place, open, victim })),
);

test.each(CASES)(
  "on $place, labels and trusted values survive a kill of the $victim between a result and the next call",
  async ({ open, victim }) => {
    let thinking = 0;
    const isKilled = Promise.withResolvers<void>();
    await using database = await open();
    await using standIn = await startStandIn("anthropic", async ({ step }) => {
      if (step === 1 && ++thinking <= MODES.length) await isKilled.promise;
      const calls = TURNS[step];
      return calls ? { calls } : { text: "Done." };
    });
    await using deployment = await startDeployment({
      env: standIn.env,
      source: bankSource,
      runtimeEnv: { PATCHBAY_FLOW_KEY: "k".repeat(32) },
      ...(database.url !== undefined && { database: database.url }),
    });
    const runtime = await deployment.connect();
    const ask = (mode: string) => deployment.query(QUERY, { role: "user" }, { "idempotency-key": mode });

    for (const [before, mode] of MODES.entries()) {
      if (mode === "deny") await deployment.admin("agents", "update", deployment.agentId, "--flows", mode);
      ask(mode).catch(() => "cut by the kill");
      await until(() => thinking > before, "the model's turn after the results");
    }
    await deployment.kill(victim === "runtime" ? runtime : deployment.serve);
    await (victim === "runtime" ? deployment.connect() : deployment.restart());
    isKilled.resolve();
    const [asked, denied] = await Promise.all(MODES.map(ask));

    expect(asked).toMatchObject({
      code: "approval_required",
      approvals: [
        { parameters: { account: "acc-666" }, flow: { rule: "target", source: { toolName: "read_inbox" } } },
        { parameters: { account: "acc-771" }, flow: { rule: "mention", source: { toolName: "read_inbox" } } },
      ],
    });
    expect(denied!.toolInteractions.slice(2)).toMatchObject([
      { parameters: { account: "acc-of-bob" }, success: true },
      { parameters: { account: "acc-666" }, code: "denied" },
      { parameters: { account: "acc-771" }, code: "denied" },
    ]);
    expect(deployment.functionRuns().map(({ id }) => id)).toEqual(["acc-of-bob", "acc-of-bob"]);
    const store = await openStore(database.url ?? `sqlite:${deployment.databaseFile}`, { readOnly: true });
    expect((await violations(store).finally(() => store.close())).violations).toEqual([]);
  },
);
