import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { z as Zod } from "zod";
import { expectedOf, writtenBy } from "./releases.ts";
import { type Release, RELEASES } from "./row.ts";

const releases = Object.keys(RELEASES) as Release[];

/** Compared as texts, because a child process sends texts. */
function matchers(expected: ReturnType<typeof expectedOf>) {
  const entries = Object.entries(expected);
  return Object.fromEntries(
    entries.map(([name, schema]) => [name, schema instanceof RegExp ? expect.stringMatching(schema) : schema]),
  );
}

describe("the model receives the same for every type of zod", () => {
  test.each(releases)("zod %s, while this package finds another copy of zod", async (release) => {
    const { z } = (await import(RELEASES[release])) as { z: typeof Zod };

    expect(writtenBy(release, z)).toEqual(matchers(expectedOf(release, "two")));
  });

  // Later releases convert themselves, whatever copy this package finds.
  test.each(["3.25/v4", "4.0", "4.1"] as const)("zod %s as the only copy", async (release) => {
    expect(await writtenAlone(release)).toEqual(matchers(expectedOf(release, "one")));
  });
});

/** Runs the table in a process in which this package finds the zod of the release. */
async function writtenAlone(release: Release): Promise<unknown> {
  const core = `${RELEASES[release].replace(/\/v4$/, "")}/v4/core`;
  const program = `
    import { registerHooks } from "node:module";
    registerHooks({ resolve: (name, context, next) => next(name === "zod/v4/core" ? "${core}" : name, context) });
    const { writtenBy } = await import("${new URL("releases.ts", import.meta.url).href}");
    const { z } = await import("${import.meta.resolve(RELEASES[release])}");
    console.log(JSON.stringify(writtenBy("${release}", z)));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
  return JSON.parse(stdout);
}
