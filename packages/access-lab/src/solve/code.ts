import { parseExpressionAt } from "acorn";
import type { Node } from "estree";
import type { Fingerprint } from "@patchbay/functions/access";
import { Links } from "../code/links.ts";
import { dataOf, isCode, isFunction, nodesIn, normalForm, parseModules } from "../code/modules.ts";
import { bodyOf, Slice } from "../code/slice.ts";
import { Names } from "./names.ts";
import { Reader } from "./reader.ts";

/** An owner's code. */
export interface Code {
  /** The code of functions with all code that it uses. All files if some of it cannot be followed. */
  slice: (code: Parameters<Fingerprint>[0]) => Slice;
  /** Reads the code, in which others may replace some parts. */
  reader: (replaced?: ReadonlyMap<Node, Node>) => Reader;
}

export function readCode(files: ReadonlySet<string>): Code {
  const modules = parseModules(files);
  const links = new Links(modules);
  const names = new Names(modules, links);
  const whole = () => {
    const parsed = [...modules.values()].map(({ ast }) => normalForm(ast));
    return [...parsed, ...[...files].filter((path) => isCode(path) && !modules.has(path)).map(dataOf)];
  };
  const slice: Code["slice"] = (code) => {
    const found = new Slice(modules, links);
    for (const { run, isWrapped } of code) {
      const text = String(run);
      const written = isWrapped ? undefined : parseFunction(text);
      // The text is not the owner's: built in, bound, wrapped by a library, or compiled to CommonJS.
      if (written === undefined || text.includes("__vite_ssr_")) found.isOpen = true;
      else if (found.addFunctions(bodyOf(written))) continue;
      // zod wraps the value of `.catch(value)` like this.
      if (/^\(\) => [\w.]+$/.test(text)) found.parts.add(`value ${JSON.stringify(run())}`);
      else found.isOpen = true;
    }
    if (found.isOpen) for (const form of whole()) found.parts.add(form);
    return found;
  };
  return { slice, reader: (replaced) => new Reader(names, replaced) };
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
