import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A group of the sidebar. */
export interface PageGroup {
  text: string;
  items: readonly { text: string; link: string }[];
}

/** A site as `llms.txt` describes it: https://llmstxt.org. */
export interface TextSite {
  title: string;
  description: string;
  groups: readonly PageGroup[];
  /** The folder of the pages. */
  source: string;
}

/** Writes `llms.txt`, the list of the pages with what each is about, and `llms-full.txt`, their texts, to `folder`. */
export function writeTexts({ title, description, groups, source }: TextSite, folder: string): void {
  const head = `# ${title}\n\n> ${description}\n`;
  const lists = groups.map(({ text, items }) => {
    const lines = items.map(
      (item) => `- [${item.text}](${addressOf(item.link)}): ${summaryOf(read(source, item.link))}`,
    );
    return `\n## ${text}\n\n${lines.join("\n")}\n`;
  });
  const links = groups.flatMap(({ items }) => items.map(({ link }) => link));
  writeFileSync(join(folder, "llms.txt"), head + lists.join(""));
  writeFileSync(join(folder, "llms-full.txt"), links.map((link) => `${read(source, link).trim()}\n`).join("\n---\n\n"));
}

const nameOf = (link: string): string => (link.endsWith("/") ? `${link}index` : link).slice(1);
/** Relative, because the site works below any path. */
const addressOf = (link: string): string => `${nameOf(link)}.html`;

/** A page with the parts that it includes. */
function read(source: string, link: string): string {
  const file = join(source, `${nameOf(link)}.md`);
  return readFileSync(file, "utf8").replaceAll(/<!--@include: (\S+?)-->/g, (_, part: string) =>
    readFileSync(join(dirname(file), part), "utf8").trim(),
  );
}

/** The first sentence of a page's first paragraph, as plain text. */
function summaryOf(page: string): string {
  const parts = page.replaceAll(/^```.*?^```/gms, "").split(/\n{2,}/);
  const first = parts.find((part) => /^[\w*`[]/.test(part)) ?? "";
  const plain = first.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/\s+/g, " ");
  return (/^.*?\.(?= |$)/.exec(plain)?.[0] ?? plain).trim().replace(/:$/, ".");
}
