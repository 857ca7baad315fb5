import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import { runCommand, temporaryFolder } from "./command.ts";

const functionsPackage = fileURLToPath(new URL("../../../functions/src/index.ts", import.meta.url));
const zod = fileURLToPath(import.meta.resolve("zod"));
const run = promisify(execFile);

export const POLICY = `
const owners: Record<string, string> = { a: "ada", b: "ben" };
export function isOwn(order: string, userId: string | undefined): boolean {
  return userId !== undefined && owners[order] === userId;
}`;

export const SERVICE = `
import { writeFileSync } from "node:fs";
import { defineFunction, defineService } from ${JSON.stringify(functionsPackage)};
import { z } from ${JSON.stringify(zod)};
import { isOwn } from "./policy.ts";
const handler = () => { writeFileSync(import.meta.dirname + "/handled", ""); return {}; };
export default defineService({
  name: "desk", roles: ["staff", "boss"], context: z.object({ userId: z.string().optional() }),
  functions: [
    defineFunction({
      name: "refund", description: "Refunds.", roles: ["staff", "boss"],
      input: z.object({ order: z.string(), amount: z.number().max(100) }),
      authorize: ({ role, context, input }: any) => role === "boss" || isOwn(input.order, context.userId),
      cases: {
        own: { input: { order: "a", amount: 10 }, context: { userId: "ada" } },
        foreign: { input: { order: "b", amount: 10 }, context: { userId: "ada" } },
      },
      handler,
    }),
    defineFunction({
      name: "toggle", description: "Toggles.", roles: ["staff", "boss"], handler,
      input: z.object({ on: z.boolean(), level: z.int().min(0).max(3) }),
      authorize: ({ role, input }: any) => role === "boss" || (input.on && input.level < 2),
      cases: { low: { input: { on: true, level: 0 } }, high: { input: { on: true, level: 3 } } },
    }),
    defineFunction({ name: "hours", description: "Opening hours.", roles: ["staff"], input: z.object({}), handler }),
  ],
});`;

/** A service in a git repository with one commit. */
export async function desk(files: Record<string, string> = {}) {
  const folder = await temporaryFolder();
  const all = { "package.json": '{ "type": "module" }', "policy.ts": POLICY, "service.ts": SERVICE, ...files };
  const write = async (name: string, text: string) => await writeFile(join(folder.path, name), text);
  for (const [name, text] of Object.entries(all)) await write(name, text);
  const git = (...args: string[]) =>
    run("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", "-C", folder.path, ...args]);
  const commit = async () => {
    await git("add", ".");
    await git("commit", "--quiet", "--message", "next");
  };
  await git("init", "--quiet");
  await commit();
  return {
    ...folder,
    commit,
    // As a hook of git sets it for the repository that it runs in.
    access: (...args: string[]) =>
      runCommand(["access", "service.ts", ...args, "--seed", "1"], { cwd: folder.path, env: { GIT_DIR: "/nowhere" } }),
    attack: () => runCommand(["access", "attack", "service.ts"], { cwd: folder.path }),
    lock: () => runCommand(["access", "service.ts", "--write"], { cwd: folder.path }),
    async edit(name: string, from: string, to: string) {
      const text = await readFile(join(folder.path, name), "utf8");
      expect(text.split(from)).toHaveLength(2);
      await write(
        name,
        text.replace(from, () => to),
      );
    },
    read: (name: string) => readFile(join(folder.path, name), "utf8"),
    write,
    wasHandled: () => existsSync(join(folder.path, "handled")),
  };
}
