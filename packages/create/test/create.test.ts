import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { packageManagerOf } from "../src/package-manager.ts";
import { testFolder } from "./support/host.ts";

interface PackageJson {
  name: string;
  type: string;
  private: boolean;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  overrides?: Record<string, string>;
  resolutions?: Record<string, string>;
}

const packageOf = async (folder: Awaited<ReturnType<typeof testFolder>>, name = "shop") =>
  JSON.parse(await folder.read(`${name}/package.json`)) as PackageJson;

test("the service has its files, and its name in them", async () => {
  await using folder = await testFolder();

  const { files } = await folder.create({ folder: "shop" });

  expect(files.toSorted()).toEqual(
    [
      ".env.example",
      ".gitignore",
      ".vscode/launch.json",
      "AGENTS.md",
      "README.md",
      "access.lock.json",
      "access.never.json",
      "library.ts",
      "package.json",
      "service.test.ts",
      "service.ts",
      "tsconfig.json",
    ].toSorted(),
  );
  const top = new Set(files.map((file) => file.replace(/\/.*/, "")));
  expect((await folder.list("shop")).toSorted()).toEqual(Array.from(top).toSorted());
  expect(await folder.read("shop/service.ts")).toContain('name: "shop"');
  expect(await packageOf(folder)).toMatchObject({ name: "shop", type: "module", private: true });
  for (const file of files) expect(await folder.read(`shop/${file}`), file).not.toContain("service-name");
});

test("no script has the name of a command of yarn 1 or npm, except test", async () => {
  await using folder = await testFolder();
  await folder.create({ folder: "shop" });

  const { scripts } = await packageOf(folder);

  const commands =
    "access add audit bin cache check config create exec global help import info init install licenses link list login logout node outdated owner pack policies publish remove run tag team unlink unplug upgrade version versions why workspace workspaces ci dedupe diff doctor explain fund pkg prune rebuild root search start stop restart update view";
  expect(Object.keys(scripts).filter((name) => commands.split(" ").includes(name))).toEqual([]);
});

test("the debugger of the launch file attaches to the port of dev --inspect", async () => {
  await using folder = await testFolder();
  await folder.create({ folder: "shop" });

  const { configurations } = JSON.parse(await folder.read("shop/.vscode/launch.json")) as {
    configurations: object[];
  };

  expect(configurations).toMatchObject([{ type: "node", request: "attach", port: 9229, restart: true }]);
});

test("git ignores secrets, the database and packages", async () => {
  await using folder = await testFolder();
  await folder.create({ folder: "shop" });

  expect((await folder.read("shop/.gitignore")).split("\n")).toEqual(
    expect.arrayContaining(["node_modules/", ".env", ".patchbay/"]),
  );
});

test.each([
  ["npm/11.19.1 node/v26.10.0 linux x64 workspaces/false", "npm"],
  ["pnpm/12.21.0 npm/? node/v26.10.0 linux x64", "pnpm"],
  ["yarn/1.22.22 npm/? node/v26.10.0 linux x64", "yarn"],
  ["bun/1.3.0 npm/? node/v24.3.0 linux x64", "bun"],
  ["npminstall/7.0.0 npm/? node/v26.10.0", "npm"],
  [undefined, "npm"],
])("the user agent %j means %s", (userAgent, manager) => {
  expect(packageManagerOf(userAgent)).toBe(manager);
});

describe.each([
  ["npm", "npm install --no-audit --no-fund", "npm run roles -- --check", "npm test"],
  ["pnpm", "pnpm install", "pnpm run roles --check", "pnpm run test"],
  ["yarn", "yarn install", "yarn run roles --check", "yarn run test"],
  ["bun", "bun install", "bun run roles --check", "bun run test"],
] as const)("%s", (packageManager, install, check, tests) => {
  test("installs the packages, and its commands are in every text", async () => {
    await using folder = await testFolder();

    const { next } = await folder.create({ folder: "shop" }, { packageManager });

    expect(folder.runs).toEqual([{ command: install, folder: join(folder.path, "shop") }]);
    expect(next).toEqual(["cd shop", `${packageManager} run dev`, tests]);
    for (const file of ["README.md", "AGENTS.md"]) {
      const text = await folder.read(`shop/${file}`);
      expect(text).toContain(check);
      if (packageManager !== "npm") expect(text).not.toMatch(/(?<!p)npm/);
    }
  });
});

test.each([
  ["a folder, installed", "shop", true, ["cd shop", "npm run dev", "npm test"]],
  ["a folder, not installed", "shop", false, ["cd shop", "npm install", "npm run dev"]],
  ["this folder, installed", ".", true, ["npm run dev", "npm test", "npm run roles"]],
  ["this folder, not installed", ".", false, ["npm install", "npm run dev", "npm test"]],
  ["a folder with a quote", "my 'shop", false, [`cd 'my '\\''shop'`, "npm install", "npm run dev"]],
])("the next commands for %s", async (_what, named, install, next) => {
  await using folder = await testFolder();

  expect(await folder.create({ folder: named, name: "shop", install })).toMatchObject({ next });
});

test.each([
  ["npm ended with exit code 1", async () => 1],
  ["npm ended with a signal", async () => null],
  ["spawn npm ENOENT", () => Promise.reject(new Error("spawn npm ENOENT"))],
])("a failed install names its reason (%s) and the command to repeat", async (reason, run) => {
  await using folder = await testFolder();

  await expect(folder.create({ folder: "shop" }, { run })).rejects.toThrow(
    `The files are in ${join(folder.path, "shop")}, but their packages are not installed: ${reason}. Run \`npm install\` there.`,
  );

  expect(await folder.list("shop")).toContain("package.json");
});

describe("packed packages", () => {
  const packs = ["cli", "control-plane", "functions", "protocol"].map((name) => `patchbay-${name}-0.1.0.tgz`);

  test.each([
    ["npm", "overrides"],
    ["bun", "overrides"],
    ["yarn", "resolutions"],
  ] as const)("replace those of the registry with %s, also as dependencies of each other", async (manager, member) => {
    await using folder = await testFolder();
    for (const file of [...packs, "notes.txt"]) await writeFile(join(folder.path, file), "");

    await folder.create({ folder: "shop", packages: "." }, { packageManager: manager });

    const made = await packageOf(folder);
    const file = (name: string) => `file:${join(folder.path, `patchbay-${name}-0.1.0.tgz`)}`;
    expect(made.dependencies).toMatchObject({ "@patchbay/cli": file("cli"), "@patchbay/functions": file("functions") });
    expect(made.devDependencies).toMatchObject({ "@patchbay/control-plane": file("control-plane") });
    expect(made[member]).toEqual({
      "@patchbay/cli": file("cli"),
      "@patchbay/control-plane": file("control-plane"),
      "@patchbay/functions": file("functions"),
      "@patchbay/protocol": file("protocol"),
    });
    expect(await folder.list("shop")).not.toContain("pnpm-workspace.yaml");
  });

  test("replace those of the registry with pnpm in its workspace file", async () => {
    await using folder = await testFolder();
    for (const file of packs) await writeFile(join(folder.path, file), "");

    await folder.create({ folder: "shop", packages: folder.path }, { packageManager: "pnpm" });

    expect(await packageOf(folder)).not.toHaveProperty("overrides");
    expect(await folder.read("shop/pnpm-workspace.yaml")).toContain(
      `  "@patchbay/protocol": "file:${join(folder.path, "patchbay-protocol-0.1.0.tgz")}"\n`,
    );
  });

  test("a folder without all of them is refused", async () => {
    await using folder = await testFolder();
    await writeFile(join(folder.path, packs[0]!), "");

    await expect(folder.create({ folder: "shop", packages: "." })).rejects.toThrow(
      `The folder ${folder.path} has no packed @patchbay/functions, @patchbay/control-plane. Pack all packages into one folder`,
    );
    await expect(folder.create({ folder: "shop", packages: "none" })).rejects.toThrow(
      `The folder ${join(folder.path, "none")} of the packed packages cannot be read (ENOENT).`,
    );
    expect(await folder.list()).toEqual([packs[0]]);
  });
});
