import { JSDOM } from "jsdom";
import { expect, test } from "vitest";
import { createMarkdown } from "../src/ui/text/rendered-markdown.tsx";

const { window } = new JSDOM("");
const toHtml = createMarkdown(window);

/** The DOM of a page that shows `text`. */
function shown(text: string): HTMLElement {
  const box = window.document.createElement("div");
  box.innerHTML = toHtml(text);
  return box;
}

test("Markdown is rendered as HTML elements", () => {
  const box = shown("# Late\n\n- **two** `orders`\n\n| a | b |\n|---|---|\n| 1 | 2 |");

  expect(box.querySelector("h1")?.textContent).toBe("Late");
  expect(box.querySelector("li strong")?.textContent).toBe("two");
  expect([...box.querySelectorAll("td")].map((cell) => cell.textContent)).toEqual(["1", "2"]);
});

test("nothing is loaded", () => {
  const box = shown(
    '![secret](https://evil.example/?q=1)\n\n<img src="https://evil.example/2"><video poster="https://e.example">',
  );

  expect(box.querySelector("img, video, [src], [poster], [srcset], [style]")).toBeNull();
  expect(box.textContent).toContain("[image: secret]");
});

test("HTML is shown as text and does not run", () => {
  const box = shown('<script>alert(1)</script>\n\n<b onclick="alert(2)">x</b> and inline <i style="color:red">y</i>');

  expect(box.querySelector("script, b, i, [onclick], [style]")).toBeNull();
  expect(box.textContent).toContain("<script>alert(1)</script>");
});

test.each(["javascript:alert(1)", "data:text/html,x", "vbscript:x", "/api/session", "JaVaScRiPt:alert(1)"])(
  "a link to %s has no target",
  (address) => {
    expect(shown(`[click](${address})`).querySelector("a")?.hasAttribute("href") ?? false).toBe(false);
  },
);

test("a link opens in a new tab without a referrer", () => {
  const link = shown("[docs](https://example.com/a)").querySelector("a");

  expect(link?.getAttribute("href")).toBe("https://example.com/a");
  expect(link?.getAttribute("target")).toBe("_blank");
  expect(link?.getAttribute("rel")).toBe("noopener noreferrer nofollow");
});

test("scrollable elements can be focused", () => {
  const box = shown("| a |\n|---|\n| 1 |\n\n```\ncode\n```");

  expect([...box.querySelectorAll("[tabindex='0']")].map(({ tagName }) => tagName)).toEqual(["TABLE", "PRE"]);
});
