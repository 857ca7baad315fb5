/** By the importing file and the specifier. */
const found = new Map<string, string>();

const keyOf = (specifier: string, parent: string): string => `${parent}\n${specifier}`;

/** Keeps Node.js's resolution of an import, which no other code finds for `#` imports and linked packages. */
export function noteResolved(specifier: string, parent: string, path: string): void {
  found.set(keyOf(specifier, parent), path);
}

/** The file that Node.js loaded in this process for an import in `parent`. */
export const resolvedImport = (specifier: string, parent: string): string | undefined =>
  found.get(keyOf(specifier, parent));

/** Node.js's global names. The file is loaded before the owner's code, which may add others. */
export const GLOBALS: ReadonlySet<string> = new Set(Object.getOwnPropertyNames(globalThis));
