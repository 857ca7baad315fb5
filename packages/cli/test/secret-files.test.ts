import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { createProgram } from "../src/program.ts";
import { readSecretFiles, SECRETS } from "../src/secret-files.ts";
import { runCommand, temporaryFolder } from "./support/command.ts";

async function secretFile(folder: string, text: string): Promise<string> {
  const file = join(folder, "secret");
  await writeFile(file, text);
  return file;
}

test.each(["s3cret", "s3cret\n", "s3cret\r\n"])(
  "a secret is read from its file without the last line break: %j",
  async (text) => {
    await using folder = await temporaryFolder();
    const file = await secretFile(folder.path, text);
    const environment: Record<string, string | undefined> = { OPENAI_API_KEY_FILE: file };

    readSecretFiles(environment);

    expect(environment).toEqual({ OPENAI_API_KEY: "s3cret" });
    // `.env` is read again and names the file again, which now has another secret.
    await writeFile(file, "next\n\n");
    environment["OPENAI_API_KEY_FILE"] = file;
    readSecretFiles(environment);
    expect(environment).toEqual({ OPENAI_API_KEY: "next\n" });
  },
);

test("a secret and its file are both set: wrong usage", async () => {
  await using folder = await temporaryFolder();
  const env = {
    PATCHBAY_DATABASE_FILE: await secretFile(folder.path, "sqlite::memory:"),
    PATCHBAY_DATABASE: "sqlite::memory:",
  };
  expect(await runCommand(["orgs", "list"], { env })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("PATCHBAY_DATABASE and PATCHBAY_DATABASE_FILE are both set") as string,
  });
});

test("a file that is missing or empty ends the command", async () => {
  await using folder = await temporaryFolder();
  const missing = { PATCHBAY_METRICS_TOKEN_FILE: join(folder.path, "none") };
  const empty = { PATCHBAY_METRICS_TOKEN_FILE: await secretFile(folder.path, "\n") };

  expect(() => readSecretFiles(missing)).toThrow(
    /PATCHBAY_METRICS_TOKEN_FILE names a file that cannot be read: ENOENT/,
  );
  expect(() => readSecretFiles(empty)).toThrow("PATCHBAY_METRICS_TOKEN_FILE names an empty file");
});

test("every option with a secret can be read from a file", () => {
  const withChildren = (command: Command): Command[] => [command, ...command.commands.flatMap(withChildren)];
  const all = withChildren(createProgram());
  // Flags, such as --trust-proxy, hold no value.
  const options = all.flatMap((command) => command.options.filter(({ required, optional }) => required || optional));
  const variables = options.flatMap(({ envVar }) => envVar ?? []);
  // Addresses of databases, buses and proxies have their passwords.
  const secrets = variables.filter((name) => /_(KEY|TOKEN|PASSWORD|SECRET|DATABASE|NATS|PROXY)$/.test(name));
  expect(secrets).toContain("PATCHBAY_PROXY");
  expect(secrets.filter((name) => !SECRETS.includes(name))).toEqual([]);
});
