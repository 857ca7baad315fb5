// Prepares a clone for `npm start` and `npm test` with the Node.js of the machine, from version 20: installs the packages, with
// them Node 26, and for `start` builds the console. Prints a line before a step that takes long, and what failed.
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";

const INSTALLED = "node_modules/.modules.yaml";
const forStart = process.argv[2] === "start";

const changedAt = (file) => (existsSync(file) ? statSync(file).mtimeMs : -1);
const upToDate = changedAt(INSTALLED) > changedAt("pnpm-lock.yaml");
// Once the packages of the tests are installed, they stay.
const prod = forStart && !existsSync("node_modules/.bin/vitest") ? ["--prod"] : [];
run(upToDate ? undefined : "Installing packages. The first time takes up to a minute.", "npx", [
  "--yes",
  "pnpm@12.21.0",
  "install",
  "--frozen-lockfile",
  "--prefer-offline",
  ...prod,
]);
// By name: the packages contain the Node.js that can run it, and npm puts their programs on the path.
if (forStart)
  run(existsSync("packages/console/dist/.stamp") ? undefined : "Building the console.", "node", [
    "packages/console/build.ts",
  ]);

function run(line, command, args) {
  if (line) process.stdout.write(`${line}\n`);
  const { status, error, stdout, stderr } = spawnSync(command, args, { encoding: "utf8", maxBuffer: 100_000_000 });
  if (status === 0) return;
  process.stderr.write(`${stdout ?? ""}${stderr ?? ""}${error ? `${error.message}\n` : ""}`);
  process.stderr.write(
    `\`${[command, ...args].join(" ")}\` failed. Fix what it reports above, and run the same command again.\n`,
  );
  process.exit(1);
}
