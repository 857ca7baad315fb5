import createDomPurify from "dompurify";
import { marked } from "marked";

const purify = createDomPurify(window);

/** The text of a model is untrusted. It may load nothing: the address of an image could carry data away. */
const ALLOWED = {
  ALLOWED_TAGS: [
    ..."a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre strong".split(" "),
    ..."table tbody td th thead tr ul".split(" "),
  ],
  ALLOWED_ATTR: ["href"],
  ALLOWED_URI_REGEXP: /^https?:/i,
};

/** An answer in Markdown. */
export function Markdown({ text }: { text: string }) {
  const html = purify.sanitize(marked.parse(text, { async: false }), ALLOWED);
  return <div className="markdown" dangerouslySetInnerHTML={{ __html: html }} />;
}
