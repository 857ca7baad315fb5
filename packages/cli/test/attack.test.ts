import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runCommand, temporaryFolder } from "./support/command.ts";

const functionsPackage = fileURLToPath(new URL("../../functions/src/index.ts", import.meta.url));

/** A file with a service for two roles; `authorize` is the rule of the function that both may call. */
async function folderWith(authorize: string) {
  const folder = await temporaryFolder();
  await writeFile(
    join(folder.path, "service.ts"),
    `import { defineFunction, defineService } from ${JSON.stringify(functionsPackage)};
let asked = 0;
const input = { type: "object", properties: {} };
const common = { description: "Does it.", input, handler: () => { throw new Error("a real handler ran"); } };
export default defineService({
  name: "desk",
  functions: [
    defineFunction({ ...common, name: "shared", roles: ["customer", "manager"], authorize: ${authorize} }),
    defineFunction({ ...common, name: "managed", roles: ["manager"] }),
  ],
});
`,
  );
  return folder;
}

test("access --attack prints its attempts and exits 0 without findings", async () => {
  await using folder = await folderWith(`({ role }) => role === "manager"`);

  const { code, stdout, stderr } = await runCommand(["access", "--attack"], { cwd: folder.path });

  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^desk: 2 functions, \d+ attempts in \d+ ms, nothing found\.$/m);
  expect(stdout).toMatch(/^ +customer +manager +no role$/m);
});

test("access --attack exits 1 with findings, such as a rule with random decisions", async () => {
  await using folder = await folderWith("() => asked++ % 3 > 0");

  const { code, stdout, stderr } = await runCommand(["access", "--attack", "--json"], { cwd: folder.path });

  expect(code).toBe(1);
  expect(stderr).toMatch(/findings?\.$/m);
  const { findings } = JSON.parse(stdout) as { findings: object[] };
  expect(findings).toContainEqual(
    expect.objectContaining({ kind: "ran", detail: "shared ran although authorize refuses the call" }),
  );
});

test("access attack --strict exits 1 when no attack reached a function", async () => {
  await using folder = await folderWith("() => false");

  const { code, stdout, stderr } = await runCommand(["access", "attack", "--strict"], { cwd: folder.path });

  expect(code).toBe(1);
  expect(stderr).toContain("The attacks did not reach 2 functions or outputs. Declare the cases that the notes name.");
  expect(stdout).toContain("shared: authorize refused each call as customer");
});
