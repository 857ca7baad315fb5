import { useMemo } from "react";
import { createMarkdown } from "./markdown-to-html.ts";

const toHtml = createMarkdown(window);

export function RenderedMarkdown({ text }: { text: string }) {
  const html = useMemo(() => toHtml(text), [text]);
  return <div className="prose" dangerouslySetInnerHTML={{ __html: html }} />;
}
