import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { HOLES, type Hole } from "./access-corpus/holes.ts";
import { temporaryFolder } from "./support/command.ts";

/** What the fingerprint of `authorize` shows of the edit of each service. */
async function fingerprints(holes: readonly Hole[]): Promise<{ name: string; isFound: boolean; isStable: boolean }[]> {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "holes.json");
  await writeFile(file, JSON.stringify(holes));
  const script = fileURLToPath(new URL("access-corpus/fingerprints.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, file]);
  const lines = stdout.trimEnd().split("\n");
  return holes.map(({ name }, i) => ({ name, ...(JSON.parse(lines[i]!) as { isFound: boolean; isStable: boolean }) }));
}

test("a change of code that authorize reaches in any way changes its fingerprint", async () => {
  const found = await fingerprints(HOLES);

  expect(found.filter(({ isFound }) => !isFound).map(({ name }) => name)).toEqual([]);
});

test("a change of code that authorize does not reach leaves its fingerprint", async () => {
  const service =
    'import { ROLES } from "./roles.js";\nexport const authorize = ({ role }) => ROLES.includes(role);\nexport const handler = () => ROLES.length + 1;';
  const other =
    'import { ROLES } from "./roles.js";\nexport const count = () => ROLES.map((role) => `${role}!`).length;';
  const files = {
    "service.js": `import "./other.js";\n${service}`,
    "roles.js": 'export const ROLES = ["boss"];\nexport const UNUSED = 1;',
    "other.js": other,
  };
  const edits: Hole[] = [
    { name: "a handler", files, edit: ["service.js", "length + 1", "length + 2"] },
    { name: "a variable", files, edit: ["roles.js", "UNUSED = 1", "UNUSED = 2"] },
    { name: "a file that reads", files, edit: ["other.js", "!", "?"] },
  ];

  expect(await fingerprints(edits)).toEqual(edits.map(({ name }) => ({ name, isFound: false, isStable: true })));
});
