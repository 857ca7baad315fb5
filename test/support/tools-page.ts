import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { Service } from "@patchbay/functions";
import { callAs } from "@patchbay/functions/testing";

const PAGE = readFileSync(new URL("../../docs/guides/existing-tools.md", import.meta.url), "utf8");
let count = 0;

/** Runs the program below a heading of the page about tools that exist, whose service has one function. */
export async function expectTool(folder: string, heading: string, replaced: Record<string, string> = {}) {
  const section = PAGE.split(`\n## ${heading}\n`)[1] ?? expect.fail(`no section ${heading}`);
  let code = section.split("```ts\n")[1]!.split("```")[0]!;
  for (const [from, to] of Object.entries(replaced)) code = code.replace(from, to);
  const file = join(folder, `service-${count++}.ts`);
  await writeFile(file, code);
  const { default: service } = (await import(file)) as { default: Service };
  const called = (role: string, input: object) => callAs(service, { functionName: "get_order", role, input });

  expect(await called("support", { id: "W100" })).toEqual({ ok: true, value: { id: "W100", state: "paid" } });
  expect(await called("support", {})).toMatchObject({ ok: false, code: "invalid_arguments" });
  expect(await called("customer", { id: "W100" })).toMatchObject({ ok: false, code: "unknown_function" });
}
