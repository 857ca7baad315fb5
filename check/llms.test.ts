import { globSync, mkdirSync, mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { sidebar } from "../docs/.vitepress/sidebar.ts";
import { writeTexts } from "../docs/generators/llms.ts";

test("llms.txt lists the pages, and llms-full.txt has their texts with what they include", () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), "llms-"));
  const file = (name: string) => join(folder.path, name);
  mkdirSync(file("guides/generated"), { recursive: true });
  writeFileSync(file("index.md"), "# Start\n\n```ts\ncode();\n```\n\nAnswers [queries](guides/one.md)\nfast. More.\n");
  writeFileSync(
    file("guides/one.md"),
    "# One\n\n![drawing](one.svg)\n\nTwo rules:\n\n<!--@include: ./generated/part.md-->\n",
  );
  writeFileSync(file("guides/generated/part.md"), "## Part\n");
  const groups = [
    { text: "Start", items: [{ text: "What it is", link: "/" }] },
    { text: "Guides", items: [{ text: "One", link: "/guides/one" }] },
  ];

  writeTexts({ title: "Patchbay", description: "About.", groups, source: folder.path }, folder.path);

  expect(readFileSync(file("llms.txt"), "utf8")).toBe(
    "# Patchbay\n\n> About.\n\n## Start\n\n- [What it is](index.html): Answers queries fast.\n\n## Guides\n\n- [One](guides/one.html): Two rules.\n",
  );
  expect(readFileSync(file("llms-full.txt"), "utf8")).toBe(
    "# Start\n\n```ts\ncode();\n```\n\nAnswers [queries](guides/one.md)\nfast. More.\n\n---\n\n# One\n\n![drawing](one.svg)\n\nTwo rules:\n\n## Part\n",
  );
});

test("the sidebar has every page, so that llms.txt has it too", () => {
  const docs = join(import.meta.dirname, "../docs");
  const pages = globSync("**/*.md", { cwd: docs, exclude: ["reference/generated/**"] });
  const links = sidebar.flatMap(({ items }) => items.map(({ link }) => link));

  expect(links.map((link) => `${link.endsWith("/") ? `${link}index` : link}.md`.slice(1)).toSorted()).toEqual(
    pages.toSorted(),
  );
});
