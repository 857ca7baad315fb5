/**
 * Makes a function with each edit's name as its condition, and prints the decisions on the calls that the search takes
 * from its code, as a line of JSON.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { factsOf } from "@patchbay/access-lab/search/facts";
import { judgeOf } from "@patchbay/access-lab/search/judge";
import { loadService } from "../../src/service-file.ts";
import type { Edit } from "./edits.ts";

const conditions = (JSON.parse(await readFile(process.argv[2]!, "utf8")) as Edit[]).map(({ name }) => name);
const urlOf = (name: string) => JSON.stringify(fileURLToPath(import.meta.resolve(name)));
const functions = conditions.map(
  (condition, i) => `defineFunction({
  name: "f${i}", description: "One condition.", input, roles: ["crew"], handler: () => 1,
  authorize: ({ role, input, context }) => {
    const { note = "", code = "", count = 0, weight = 0, tags = [], link = "", extra = {} } = input;
    return ${condition};
  },
})`,
);
const source = `
import { defineService, functionsFor } from ${urlOf("@patchbay/functions")};
import { z } from ${urlOf("zod")};
const context = z.object({ memberId: z.string().optional(), grade: z.int().default(3) });
const { defineFunction } = functionsFor(context);
const input = z.object({
  note: z.string().max(300).optional(), code: z.string().optional(), count: z.int().optional(),
  weight: z.number().optional(), tags: z.array(z.string()).optional(), link: z.string().optional(),
  extra: z.record(z.string(), z.unknown()).optional(), day: z.iso.date().optional(), plate: z.string().regex(/^V-\\d+$/).optional(),
});
const BERTHS = new Map([["b-17", { owner: "ines", depth: 4 }], ["b-18", { owner: "omar", depth: 9 }]]);
const owners: Record<string, string> = { w1: "ada", w2: "ben" };
const list = [{ id: "k-1", open: false }, { id: "k-2", open: true }];
const berthOf = (id: string) => BERTHS.get(id);
function isLarge(n: number): boolean {
  if (n < 10) return false;
  const doubled = n * 2;
  return doubled > 90;
}
function gradeOf(name: string) {
  switch (name) {
    case "gold": return 3;
    case "silver": return 2;
    default: return 0;
  }
}
export default defineService({ name: "probe", context, functions: [${functions.join(", ")}] });
`;
const folder = await mkdtemp(join(tmpdir(), "solved-"));
try {
  const path = join(folder, "service.ts");
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(path, source);
  const files = new Set<string>();
  const service = await loadService(path, { onFile: (file) => files.add(file) });
  const facts = await factsOf(service, files);
  for (const [i] of conditions.entries()) {
    const decided = await judgeOf(service)(`f${i}`, ["crew"], facts.functions[`f${i}`]!.solved);
    console.log(JSON.stringify([...new Set(decided)].filter((letter) => letter !== "i").sort()));
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
