import { useMemo } from "react";
import { markdownToHtml } from "./markdown-to-html.ts";

export function RenderedMarkdown({ text }: { text: string }) {
  const html = useMemo(() => markdownToHtml(text), [text]);
  return <div className="prose" dangerouslySetInnerHTML={{ __html: html }} />;
}
