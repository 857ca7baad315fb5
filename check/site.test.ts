import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMarkdownRenderer } from "vitepress";

const root = join(import.meta.dirname, "..");
const docs = join(root, "docs");
const PAGES = globSync("**/*.md", { cwd: docs, exclude: ["reference/generated/**", ".vitepress/**"] });

let site: string;
beforeAll(async () => {
  site = await mkdtemp(join(tmpdir(), "docs-site-"));
  const run = (...args: string[]) => promisify(execFile)("env", args, { cwd: root });
  await run(process.execPath, "docs/generators/main.ts");
  // With the test runner's NODE_ENV, Vue would build for development.
  await run("-u", "NODE_ENV", join(root, "node_modules/.bin/vitepress"), "build", "docs", "--outDir", site);
});
afterAll(() => rm(site, { recursive: true, force: true }));

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', amp: "&", "#39": "'" };
const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/&(?:#x([0-9a-f]+)|(#39|[a-z]+));/gi, (entity, code: string | undefined, name: string) =>
      code === undefined ? (ENTITIES[name] ?? entity) : String.fromCodePoint(Number.parseInt(code, 16)),
    );

/** A browser shows consecutive spaces of a span as one. */
const collapsed = (text: string): string => text.replaceAll(/\s+/g, " ").trim();

/** The text of each code span and code block, in order. */
const shown = (html: string): string[] =>
  [...html.matchAll(/<code(?: [^>]*)?>(.*?)<\/code>/gs)].map(([, code = ""]) => collapsed(textOf(code)));

test("each page shows the code spans and code blocks of its source", async () => {
  const markdown = await createMarkdownRenderer(docs);
  expect(PAGES.length).toBeGreaterThan(40);
  for (const page of PAGES) {
    const source = readFileSync(join(docs, page), "utf8").replaceAll(
      /<!--\s*@include:\s*(\S+?)\s*-->/g,
      (_, file: string) => readFileSync(join(docs, dirname(page), file), "utf8"),
    );
    const written = markdown
      .parse(source, { path: join(docs, page), relativePath: page })
      .flatMap((token) => (token.type === "fence" ? [token] : (token.children ?? [])))
      .filter(({ type }) => type === "fence" || type === "code_inline")
      .map(({ content }) => collapsed(content));
    const html = readFileSync(join(site, page.replace(/\.md$/, ".html")), "utf8");
    const main = html.slice(html.indexOf("<main"), html.indexOf("</main>"));
    expect({ page, code: shown(main) }).toEqual({ page, code: written });
  }
});
