import createDomPurify, { type WindowLike } from "dompurify";
import { marked } from "marked";

/**
 * What a model writes is not trusted. Nothing of it is fetched (an address could carry data away), nothing is styled or
 * scripted, and a link opens elsewhere, without a word of where it was followed from.
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

/** Gives sanitised HTML of Markdown. Images become their text, and HTML shows as it is written. */
export function createMarkdown(window: WindowLike): (text: string) => string {
  const purify = createDomPurify(window);
  purify.addHook("afterSanitizeAttributes", (node) => {
    // What scrolls within itself must be reachable by keys.
    if (node.tagName === "TABLE" || node.tagName === "PRE") node.setAttribute("tabindex", "0");
    if (node.tagName !== "A") return;
    node.setAttribute("rel", "noopener noreferrer nofollow");
    node.setAttribute("target", "_blank");
  });
  return (text) => purify.sanitize(marked.parse(text, { async: false, gfm: true, breaks: true, renderer }), ALLOWED);
}
