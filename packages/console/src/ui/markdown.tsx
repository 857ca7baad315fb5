import { lazy, Suspense } from "react";

const Rendered = lazy(async () => ({ default: (await import("./rendered-markdown.tsx")).RenderedMarkdown }));

/** Text of a model or a person, as Markdown. Its parser loads when it is first needed; until then the plain text shows. */
export function Markdown({ text }: { text: string }) {
  return (
    <Suspense fallback={<div className="prose whitespace-pre-wrap">{text}</div>}>
      <Rendered text={text} />
    </Suspense>
  );
}
