import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { generateRetailData } from "../../examples/retail-desk/data/generate.ts";
import { createRetailDesk } from "../../examples/retail-desk/desk.ts";
import { createRetailStore } from "../../examples/retail-desk/store.ts";
import { startSystem } from "../support/system.ts";

const run = promisify(execFile);
const PAGES = ["README.md", "docs/structured-answers.md"];

/** Each curl of the pages with the output that is shown below it. */
const examples = PAGES.flatMap((page) => {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/```sh\n(curl [^`]*?)\n```\n\n```(json)?\n([\s\S]*?)\n```$/gm)].map(
    ([, command = "", json, output = ""]) => ({ page, command, json: json !== undefined, output }),
  );
});

/** Ids and times differ from run to run; everything else must be as shown. */
function steady(text: string): string {
  return text
    .replace(/\b(thr|run|call)_[0-9a-f]{32}/g, "$1_…")
    .replace(/("(?:executionTimeMs|execution_time_ms)":\s*)\d+/g, "$10");
}

let system: Awaited<ReturnType<typeof startSystem>>;
beforeAll(async () => {
  system = await startSystem({ service: createRetailDesk(createRetailStore(() => generateRetailData())) });
});
afterAll(() => system[Symbol.asyncDispose]());

test("the README shows a curl for each endpoint", () => {
  const commands = examples.map(({ page, command }) => (page === "README.md" ? command : "")).join("\n");
  for (const path of ["$AGENT/query ", "$AGENT/query-stream ", "/agent/query-stream "])
    expect(commands).toContain(path);
});

test("each page has an example", () => {
  expect(new Set(examples.map(({ page }) => page))).toEqual(new Set(PAGES));
});

test.each(examples)("the output in $page is true: $command", async ({ command, json, output }) => {
  const env = {
    ...process.env,
    BASE: system.url,
    AGENT: system.agentId,
    KEY: system.apiKey,
    TOKEN: system.accessToken,
  };

  const { stdout } = await run("sh", ["-c", command.replaceAll("curl ", "curl --silent --show-error ")], { env });

  if (json) expect(JSON.parse(steady(stdout))).toEqual(JSON.parse(steady(output)));
  else expect(steady(stdout).trim()).toBe(steady(output).trim());
});
