import { useMemo } from "react";
import createDomPurify, { type WindowLike } from "dompurify";
import { marked } from "marked";

let toHtml: ((text: string) => string) | undefined;

export function RenderedMarkdown({ text }: { text: string }) {
  const html = useMemo(() => (toHtml ??= createMarkdown(window))(text), [text]);
  return <div className="prose" dangerouslySetInnerHTML={{ __html: html }} />;
}

/**
 * A model's text is untrusted. It must not load anything (a URL could exfiltrate data) and may contain neither styles
 * nor scripts. Links open in a new tab without a referrer.
 */
const ALLOWED = {
  ALLOWED_TAGS: [
    ..."a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i li ol p pre s strong sub sup".split(" "),
    ..."table tbody td th thead tr ul".split(" "),
  ],
  ALLOWED_ATTR: ["href", "start"],
  ALLOWED_URI_REGEXP: /^(https?|mailto):/i,
};

const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

const renderer = new marked.Renderer();
renderer.image = ({ text, href }) => `[image: ${escapeHtml(text || href)}]`;
renderer.html = ({ text }) => escapeHtml(text);

/** Creates a function from Markdown to sanitised HTML. Images become text, and HTML is shown as source. */
export function createMarkdown(window: WindowLike): (text: string) => string {
  const purify = createDomPurify(window);
  purify.addHook("afterSanitizeAttributes", (node) => {
    // Elements that scroll must be reachable by keyboard.
    if (node.tagName === "TABLE" || node.tagName === "PRE") node.setAttribute("tabindex", "0");
    if (node.tagName !== "A") return;
    node.setAttribute("rel", "noopener noreferrer nofollow");
    node.setAttribute("target", "_blank");
  });
  return (text) => purify.sanitize(marked.parse(text, { async: false, gfm: true, breaks: true, renderer }), ALLOWED);
}
