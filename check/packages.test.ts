import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { VERSION } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";

interface PackageJson {
  name: string;
  version: string;
  private?: boolean;
  description: string;
  keywords: string[];
  homepage: string;
  license: string;
  repository: { url: string; directory: string };
  files: string[];
  engines: { node: string };
  scripts: Record<string, string>;
  dependencies?: Record<string, string>;
  publishConfig: { bin?: Record<string, string>; exports: object };
}

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const read = (folder: string) => JSON.parse(readFileSync(`${ROOT}${folder}/package.json`, "utf8")) as PackageJson;
const folders = globSync("packages/*", { cwd: ROOT });
const published = folders.map((folder) => [folder, read(folder)] as const).filter(([, one]) => one.private !== true);

describe.each(published)("%s", (folder, json) => {
  test("names for npm what it is and where its source is", () => {
    expect(json.description).toMatch(/^[A-Z].{20,}[^.]$/);
    expect(json.keywords).toContain("patchbay");
    expect(json.homepage).toMatch(/^https:/);
    expect(json.license).toBe("MIT");
    expect(json.repository).toMatchObject({ url: expect.stringMatching(/^git\+https:.*\.git$/), directory: folder });
    expect(readFileSync(`${ROOT}${folder}/README.md`, "utf8")).toContain(`# ${json.name}`);
  });

  test("is built whenever it is packed, and ships what was built", () => {
    expect(json.scripts["prepack"]).toBe(`node ../../release/build.ts ${folder.slice("packages/".length)}`);
    expect(json.files).toContain("dist");
    for (const file of Object.values(json.publishConfig.bin ?? {})) expect(file).toBe("./dist/bin.cjs");
    // `exports` also has entries for the tests of the workspace; a package without the published ones would publish these.
    expect(JSON.stringify(json.publishConfig.exports)).not.toContain("./src/");
  });

  test("installs fixes of its dependencies: each is a range", () => {
    for (const [name, range] of Object.entries(json.dependencies ?? {}))
      expect(range, name).toMatch(/^(\^\d|workspace:[\^*]$)/);
  });

  test("names the oldest Node.js that it supports", () => {
    const needed = /^>=(\d+)(\.\d+)?$/.exec(json.engines.node);
    expect(["22", "24"]).toContain(needed?.[1]);
  });
});

test("all packages have the version that the programs report", () => {
  expect(Object.fromEntries(folders.map((folder) => [folder, read(folder).version]))).toEqual(
    Object.fromEntries(folders.map((folder) => [folder, VERSION])),
  );
});

test("what @patchbay/functions says about the control plane's Node.js is what the control plane says", () => {
  const source = readFileSync(`${ROOT}packages/test-kit/src/control-plane.ts`, "utf8");
  const { engines } = read("packages/control-plane");
  expect(source).toContain(`const NEEDED = "${engines.node.slice(">=".length)}";`);
});
