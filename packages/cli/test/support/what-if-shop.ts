import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { loadService } from "../../src/service-file.ts";
import { runCommand, temporaryFolder } from "./command.ts";
import { seedCalls, type SeededCall } from "./stored-calls.ts";

export const functionsPackage = fileURLToPath(new URL("../../../functions/src/index.ts", import.meta.url));

export interface Shop {
  name?: string;
  wipe?: string[];
  operand?: string;
  note?: string;
  flows?: "report" | "ask" | "deny";
}

export function source({
  name = "shop",
  wipe = ["manager"],
  operand = "false",
  note = "manager",
  flows,
}: Shop = {}): string {
  return `
import { defineFunction, defineService } from ${JSON.stringify(functionsPackage)};
import { appendFileSync } from "node:fs";
const handler = () => appendFileSync(new URL("ran.txt", import.meta.url), "ran");
const input = { type: "object", properties: { orderId: { type: "string" } }, required: ["orderId"] };
export default defineService({ name: ${JSON.stringify(name)}, roles: ["customer", "manager"], ${flows ? `flows: { mode: "${flows}", by: ["manager"] }, ` : ""}functions: [
  defineFunction({
    name: "get_order", description: "Gets.", input, roles: ["customer"], handler, effect: "read", targets: { orderId: "caller" },
    output: { type: "object", properties: { id: { type: "string" }, note: { type: "string", "x-visible-to": [${JSON.stringify(note)}] } } },
    authorize: ({ input, context }) => ${operand} || input.orderId === context.orderId,
  }),
  defineFunction({ name: "wipe_data", description: "Wipes.", input: { type: "object" }, roles: ${JSON.stringify(wipe)}, handler, targets: "any" }),
] });
`;
}

const denied = { ok: false, code: "denied", message: "x", rule: "authorize" } as const;
const hidden = { ok: false, code: "unknown_function", message: "x", rule: "roles" } as const;
const get = (orderId: string, outcome: SeededCall["outcome"]): SeededCall => ({
  functionName: "get_order",
  role: "customer",
  context: { orderId: "1" },
  arguments: { orderId },
  outcome,
});

const CALLS: SeededCall[] = [
  get("1", { ok: true, value: { id: "1" }, redacted: ["note"] }),
  get("1", { ok: true, value: { id: "1" } }),
  get("2", denied),
  get("3", denied),
  { functionName: "wipe_data", arguments: {}, outcome: hidden },
  { functionName: "wipe_data", role: "customer", arguments: {}, outcome: hidden },
];

/** A folder with the service, its stored calls, and the service before a change in base.ts. */
export async function shopWith(changes: Shop = {}, base: Shop = {}) {
  const folder = await temporaryFolder();
  const [path, basePath] = ["service.ts", "base.ts"].map((name) => join(folder.path, name)) as [string, string];
  await writeFile(basePath, source(base));
  const { manifest } = await loadService(basePath);
  const file = join(folder.path, "patchbay.db");
  await seedCalls(`sqlite:${file}`, manifest, CALLS);
  await writeFile(path, source(changes));
  return {
    ...folder,
    whatIf: (...args: string[]) =>
      runCommand(["access", "--what-if", "--data-dir", folder.path, ...args], { cwd: folder.path }),
    ran: () => readFile(join(folder.path, "ran.txt"), "utf8").catch(() => "nothing"),
    rows() {
      using database = new DatabaseSync(file, { readOnly: true });
      const tables = database.prepare("select name from sqlite_master where type = 'table' order by name").all();
      return tables.map(({ name }) => [name, database.prepare(`select * from "${String(name)}"`).all()]);
    },
  };
}
