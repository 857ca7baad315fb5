import { readFileSync } from "node:fs";
import { dirname, posix } from "node:path";
import { defineConfig, type MarkdownOptions } from "vitepress";
import { writeTexts } from "../generators/llms.ts";
import { slugOf } from "../generators/slug.ts";
import { sidebar } from "./sidebar.ts";

type Markdown = Parameters<NonNullable<MarkdownOptions["config"]>>[0];

/** Files of the repository that are not pages of the site, such as `../deploy/README.md`, are opened where the source is. */
const REPOSITORY = "https://github.com/patchbay/patchbay";

/** Sends links that leave the folder of the pages to the repository. */
function linkToRepository(markdown: Markdown): void {
  markdown.core.ruler.push("repository-links", ({ tokens, env }) => {
    const page = (env as { relativePath?: string }).relativePath ?? "";
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.attrGet("href");
      if (href === null || /^[a-z]+:|^#/.test(href)) continue;
      const target = posix.join("docs", dirname(page), href);
      if (!target.startsWith("docs/")) token.attrSet("href", `${REPOSITORY}/blob/main/${target}`);
    }
  });
}

/** Vue evaluates `{{…}}` in inline code, which has the text of a template here, such as a header of a chat client. */
function showBraces(markdown: Markdown): void {
  const code = markdown.renderer.rules.code_inline!;
  markdown.renderer.rules.code_inline = (tokens, index, ...rest) => {
    tokens[index]!.attrSet("v-pre", "");
    return code(tokens, index, ...rest);
  };
}

/** Puts a drawing into the page, so that its colours follow the theme that the reader chose. */
function inlineDrawings(markdown: Markdown): void {
  const image = markdown.renderer.rules.image!;
  markdown.renderer.rules.image = (tokens, index, options, env, renderer) => {
    const token = tokens[index]!;
    const source = token.attrGet("src") ?? "";
    if (!source.endsWith(".svg")) return image(tokens, index, options, env, renderer);
    const { path = "" } = env as { path?: string };
    const drawing = readFileSync(posix.join(dirname(path), source), "utf8");
    return drawing.replace("<svg ", `<svg role="img" aria-label="${markdown.utils.escapeHtml(token.content)}" `);
  };
}

const title = "Patchbay";
const description = "Put a language model in front of your functions, without opening a port.";

// oxlint-disable-next-line import/no-default-export -- the form of a configuration file
export default defineConfig({
  title,
  description,
  lang: "en",
  cleanUrls: false,
  metaChunk: true,
  srcExclude: ["reference/generated/**"],
  buildEnd: ({ srcDir, outDir }) => writeTexts({ title, description, groups: sidebar, source: srcDir }, outDir),
  markdown: {
    anchor: { slugify: slugOf },
    config(markdown) {
      linkToRepository(markdown);
      showBraces(markdown);
      inlineDrawings(markdown);
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Concepts", link: "/concepts" },
      { text: "Guides", link: "/guides/functions", activeMatch: "/guides/" },
      { text: "Reference", link: "/reference/", activeMatch: "/reference/" },
    ],
    sidebar,
  },
});
