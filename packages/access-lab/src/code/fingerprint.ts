import { parseExpressionAt } from "acorn";
import type { Node } from "estree";
import type { Fingerprint } from "@patchbay/functions/access";
import { hashOf } from "./forms.ts";
import { Links } from "./links.ts";
import { dataOf, isCode, isFunction, nodesIn, normalForm, parseModules } from "./modules.ts";
import { bodyOf, Slice } from "./slice.ts";

/** Fingerprints code by its text and by all code in the owner's `files` that it uses. Comments and layout do not count. */
export function fingerprintOf(files: ReadonlySet<string>): Fingerprint {
  const slice = slicesOf(files);
  return (code) => (code.length === 0 ? undefined : hashOf(JSON.stringify([...slice(code).parts].sort())));
}

/** The code of functions in the owner's `files`, with all code that it uses. All files if some of it cannot be followed. */
export function slicesOf(files: ReadonlySet<string>): (code: Parameters<Fingerprint>[0]) => Slice {
  const modules = parseModules(files);
  const links = new Links(modules);
  const whole = () => {
    const parsed = [...modules.values()].map(({ ast }) => normalForm(ast));
    return [...parsed, ...[...files].filter((path) => isCode(path) && !modules.has(path)).map(dataOf)];
  };
  return (code) => {
    const slice = new Slice(modules, links);
    for (const { run, isWrapped } of code) {
      const text = String(run);
      const written = isWrapped ? undefined : parseFunction(text);
      // The text is not the owner's: built in, bound, wrapped by a library, or compiled to CommonJS.
      if (written === undefined || text.includes("__vite_ssr_")) slice.isOpen = true;
      else if (slice.addFunctions(bodyOf(written))) continue;
      // zod wraps the value of `.catch(value)` like this.
      if (/^\(\) => [\w.]+$/.test(text)) slice.parts.add(`value ${JSON.stringify(run())}`);
      else slice.isOpen = true;
    }
    if (slice.isOpen) for (const form of whole()) slice.parts.add(form);
    return slice;
  };
}

/** Parses a function text. A method has no keyword, so it parses within an object or class only. */
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
