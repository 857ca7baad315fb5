import { mkdir, writeFile } from "node:fs/promises";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CTRL_C, ENTER, testFolder } from "./support/host.ts";

const FOLDER = "Service folder";
const INSTALL = "Install the packages with npm?";

test("without a folder and a terminal, the service is created in my-service and its packages are installed", async () => {
  await using folder = await testFolder();

  const created = await folder.create();

  expect(created).toMatchObject({ folder: join(folder.path, "my-service"), name: "my-service", installed: true });
  expect(folder.runs).toEqual([{ command: "npm install --no-audit --no-fund", folder: created.folder }]);
});

test("in a terminal the folder and the install are asked for", async () => {
  await using folder = await testFolder();

  const created = await folder.answer([
    [FOLDER, `apps/shop${ENTER}`],
    [INSTALL, ENTER],
  ]);

  expect(created).toMatchObject({ folder: join(folder.path, "apps/shop"), name: "shop", installed: true });
  expect(folder.runs).toHaveLength(1);
});

test("Enter takes the default folder, and n skips the install", async () => {
  await using folder = await testFolder();

  const created = await folder.answer([
    [FOLDER, ENTER],
    [INSTALL, "n"],
  ]);

  expect(created).toMatchObject({ name: "my-service", installed: false });
  expect(folder.runs).toEqual([]);
});

test("a folder and --no-install leave nothing to ask", async () => {
  await using folder = await testFolder();

  const created = await folder.answer([], { folder: "shop", install: false });

  expect(created).toMatchObject({ name: "shop", installed: false, screen: "" });
});

test("--yes asks nothing in a terminal", async () => {
  await using folder = await testFolder();

  expect(await folder.answer([], { yes: true })).toMatchObject({ name: "my-service", installed: true, screen: "" });
});

test("a similar name is offered when the folder's name cannot be one", async () => {
  await using folder = await testFolder();

  const created = await folder.answer([["Name of the service.", ENTER]], { folder: "My Shop!", install: false });

  expect(created).toMatchObject({ folder: join(folder.path, "My Shop!"), name: "my-shop" });
});

test("a name is asked for until it is valid", async () => {
  await using folder = await testFolder();

  const created = await folder.answer(
    [
      ["Name of the service.", ` 2${ENTER}`],
      ['A service cannot be named "my-shop 2".', `${"\u007f".repeat(2)}-2${ENTER}`],
    ],
    { folder: "My Shop", install: false },
  );

  expect(created).toMatchObject({ folder: join(folder.path, "My Shop"), name: "my-shop-2" });
});

test.each([
  [FOLDER, {}],
  ["Name of the service.", { folder: "My Shop" }],
  ["Write the service into it?", { folder: "full" }],
  [INSTALL, { folder: "shop" }],
])("Ctrl-C at %j writes nothing", async (question, options) => {
  await using folder = await testFolder();
  await mkdir(join(folder.path, "full"));
  await writeFile(join(folder.path, "full", "notes.txt"), "mine");

  await expect(folder.answer([[question, CTRL_C]], options)).rejects.toThrow("Cancelled; nothing was written.");

  expect(await folder.list()).toEqual(["full"]);
  expect(await folder.list("full")).toEqual(["notes.txt"]);
});

test("without a terminal, a folder that is not empty is refused with its contents and what would be replaced", async () => {
  await using folder = await testFolder();
  for (const file of ["README.md", "a", "b", "c", "d", "e"]) await writeFile(join(folder.path, file), "mine");

  await expect(folder.create({ folder: ".", name: "shop" })).rejects.toThrow(
    `The folder ${folder.path} is not empty: it contains README.md, a, b, c, d and 1 more. Name another folder, or pass --overwrite to write into this one, which replaces README.md.`,
  );

  expect(await folder.list()).toHaveLength(6);
  expect(await folder.read("README.md")).toBe("mine");
});

test.each(["--yes", "no terminal"])("with %s, a folder that is not empty is refused", async (how) => {
  await using folder = await testFolder();
  await writeFile(join(folder.path, "notes.txt"), "mine");
  const options = { folder: ".", name: "shop" };

  const creating = how === "--yes" ? folder.answer([], { ...options, yes: true }) : folder.create(options);

  await expect(creating).rejects.toThrow("or pass --overwrite to write into this one, which replaces none of them.");
  expect(await folder.list()).toEqual(["notes.txt"]);
});

test("in a terminal, a folder that is not empty is written to after a yes, and keeps its other files", async () => {
  await using folder = await testFolder();
  await writeFile(join(folder.path, "README.md"), "mine");
  await writeFile(join(folder.path, "notes.txt"), "mine");
  const options = { folder: ".", name: "shop", install: false };
  const question = "Write the service into it? This replaces README.md.";

  await expect(folder.answer([[question, ENTER]], options)).rejects.toThrow("Cancelled; nothing was written.");
  expect(await folder.list()).toEqual(["README.md", "notes.txt"]);
  expect(await folder.read("README.md")).toBe("mine");

  await folder.answer([[question, "y"]], options);
  expect(await folder.read("README.md")).toContain("# shop");
  expect(await folder.read("notes.txt")).toBe("mine");
});

test("--overwrite replaces files of the same names without a question", async () => {
  await using folder = await testFolder();
  await writeFile(join(folder.path, "README.md"), "mine");

  await folder.create({ folder: ".", name: "shop", overwrite: true });

  expect(await folder.read("README.md")).toContain("# shop");
});

test("a file that appears after the questions is not replaced", async () => {
  await using folder = await testFolder();
  const file = join(folder.path, "README.md");
  const appears = () => {
    writeFileSync(file, "mine");
    return "n";
  };

  await expect(folder.answer([[INSTALL, appears]], { folder: ".", name: "shop" })).rejects.toThrow("EEXIST");

  expect(await folder.read("README.md")).toBe("mine");
});

test("a folder with only .git counts as empty", async () => {
  await using folder = await testFolder();
  await mkdir(join(folder.path, ".git"));

  expect(await folder.create({ folder: ".", name: "shop" })).toMatchObject({ folder: folder.path });
});

test("a file in place of the folder is refused, with and without a terminal", async () => {
  await using folder = await testFolder();
  await writeFile(join(folder.path, "shop"), "mine");
  const reason = `${join(folder.path, "shop")} is a file. Name a folder.`;

  await expect(folder.create({ folder: "shop" })).rejects.toThrow(reason);
  await expect(folder.answer([], { folder: "shop", overwrite: true })).rejects.toThrow(reason);
});

test.each([
  ["My Shop", 'A service cannot be named "My Shop". Use 1 to 100 of the characters a-z 0-9 . _ -'],
  [".shop", 'A service cannot be named ".shop".'],
  ["-shop", 'A service cannot be named "-shop".'],
  ["größe", 'A service cannot be named "größe".'],
  ["x".repeat(101), "Use 1 to 100 of the characters"],
  ["zod", "A service cannot be named zod, because a package that it installs has this name."],
  ["vitest", "A service cannot be named vitest, because a package that it installs has this name."],
  ["node_modules", "A service cannot be named node_modules"],
])("the folder name %j is refused", async (name, reason) => {
  await using folder = await testFolder();

  await expect(folder.create({ folder: `./${name}` })).rejects.toThrow(reason);
  await expect(folder.create({ folder: `./${name}` })).rejects.toThrow("Name the service with --name.");
  await expect(folder.create({ folder: "shop", name })).rejects.toThrow(reason);
  expect(await folder.list()).toEqual([]);
});

test.each(["shop", "4-shops", "my.shop_2", "x".repeat(100)])("the name %j is accepted", async (name) => {
  await using folder = await testFolder();

  expect(await folder.create({ folder: "My Shop", name })).toMatchObject({ name });
});
