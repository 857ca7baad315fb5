import { execFileSync } from "node:child_process";
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { reference } from "../docs/generators/reference.ts";
import { render } from "../docs/generators/section.ts";
import { slugOf } from "../docs/generators/slug.ts";

const root = join(import.meta.dirname, "..");
const pages = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "*.md"], { cwd: root, encoding: "utf8" })
  .split("\n")
  .filter((page) => page !== "" && existsSync(join(root, page)));
/** A page may write the name of a file from here on. */
const BASES = ["", "packages/", ...globSync("packages/*/src/", { cwd: root }).map((base) => `${base}/`)];
const FOLDER = /^(?:packages|docs|test|examples|bench|deploy|check)\/[\w./-]*$/;
const FILE = /^[\w-]+(?:\/[\w.-]+)+\.(?:tsx?|md|json|yaml|conf)$/;

const generated = reference();
/** The text of a page with its generated part, which is written when the site is built. */
const read = (page: string) =>
  readFileSync(join(root, page), "utf8").replaceAll(
    /<!--@include: \.\/generated\/([\w-]+)\.md-->/g,
    (_, name: string) => render(generated[name]!),
  );
const withoutCode = (text: string) => text.replaceAll(/^```.*?^```/gms, "");

function anchors(page: string): string[] {
  return [...withoutCode(read(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => slugOf(heading));
}

function isBroken(page: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? page : normalize(join(dirname(page), path));
  if (!existsSync(join(root, target))) return true;
  return anchor !== undefined && !(target.endsWith(".md") && anchors(target).includes(anchor));
}

/** Folders that an installation or a build makes. */
const MADE = /(?:^|\/)(?:node_modules|dist|generated)(?:\/|$)/;

const isMissing = (page: string, name: string) =>
  !MADE.test(name) && ![...BASES, dirname(page)].some((base) => existsSync(join(root, base, name)));

describe.each(pages)("%s", (page) => {
  test("has no broken link", () => {
    const links = [...withoutCode(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
    const relative = links.filter((link) => !/^[a-z]+:/.test(link));

    expect(relative.filter((link) => isBroken(page, link))).toEqual([]);
  });

  test("names files and folders that exist", () => {
    const names = [...withoutCode(read(page)).matchAll(/`([^`\s]+)`/g)].map(([, name = ""]) => name);

    expect(names.filter((name) => (FOLDER.test(name) || FILE.test(name)) && isMissing(page, name))).toEqual([]);
  });
});

test("a missing file, folder and anchor are found", () => {
  expect(isBroken("README.md", "docs/no-such-page.md")).toBe(true);
  expect(isBroken("README.md", "docs/guides/access.md#no-such-heading")).toBe(true);
  expect(isBroken("README.md", "docs/guides/trust-model.md#the-trust-model")).toBe(false);
  const names = ["packages/engine/src/run/none.ts", "run/none.ts", "docs/guides/access.md"];
  expect(names.filter((name) => isMissing("README.md", name))).toEqual(names.slice(0, 2));
  expect(statSync(join(root, "docs")).isDirectory()).toBe(true);
});
