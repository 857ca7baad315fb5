import { createHash } from "node:crypto";
import { parseExpressionAt } from "acorn";
import type { Node } from "estree";
import type { Fingerprint } from "@patchbay/functions/access";
import { dataOf, isCode, isFunction, nodesIn, normalForm, parseModules } from "./modules.ts";
import { bodyOf, functionsLike, Slice } from "./slice.ts";

/** Fingerprints code by its text and by all code in the owner's `files` that it uses. Comments and layout do not count. */
export function fingerprintOf(files: ReadonlySet<string>): Fingerprint {
  const modules = parseModules(files);
  const whole = () => {
    const parsed = [...modules.values()].map(({ ast }) => normalForm(ast));
    return [...parsed, ...[...files].filter((path) => isCode(path) && !modules.has(path)).map(dataOf)];
  };
  return (code) => {
    if (code.length === 0) return undefined;
    const slice = new Slice(modules);
    for (const { run, isWrapped } of code) {
      const text = String(run);
      const written = isWrapped ? undefined : parseFunction(text);
      // The text is not the owner's: built in, bound, wrapped by a library, or compiled to CommonJS. All files could be its code.
      if (written === undefined || text.includes("__vite_ssr_")) for (const form of whole()) slice.parts.add(form);
      if (written === undefined) continue;
      slice.parts.add(bodyOf(written));
      for (const { module, node } of functionsLike(modules, bodyOf(written))) slice.add(module, node);
    }
    return hashOf([...slice.parts].sort());
  };
}

/** A function by its text. A method has no keyword, so it parses within an object or class only. */
function parseFunction(text: string): Node | undefined {
  for (const source of [`(${text})`, `({ ${text} })`, `(class { ${text} })`])
    try {
      const expression = parseExpressionAt(source, 0, { ecmaVersion: "latest", sourceType: "module" }) as Node;
      const [found] = [...nodesIn(expression)].filter(isFunction);
      if (found) return found;
    } catch {
      // It is written in another form.
    }
  return undefined;
}

function hashOf(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);
}
