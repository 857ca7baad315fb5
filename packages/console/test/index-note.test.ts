import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { IndexNote } from "../src/ui/index-note.tsx";

test("a list says until when its runs are indexed, and nothing while they all are", () => {
  const to = "2026-11-28T14:02:00.000Z";

  const text = renderToStaticMarkup(createElement(IndexNote, { to }));
  expect(text).toContain(`<time dateTime="${to}">`);
  expect(text.replaceAll(/<[^>]+>/g, "")).toMatch(
    /^Runs until .*:02.* are indexed\. Later ones may be missing here\.$/,
  );
  expect(renderToStaticMarkup(createElement(IndexNote, { to: undefined }))).toBe("");
});
