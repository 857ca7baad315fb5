import { lazy, Suspense } from "react";

const Rendered = lazy(async () => ({ default: (await import("./rendered-markdown.tsx")).RenderedMarkdown }));

/**
 * Renders Markdown from a model or a member. Shows plain text until the parser, which is loaded on first use, is ready.
 */
export const Markdown = ({ text }: { text: string }) => (
  <Suspense fallback={<div className="prose whitespace-pre-wrap">{text}</div>}>
    <Rendered text={text} />
  </Suspense>
);
