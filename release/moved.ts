/**
 * Lets scripts outside the repository import source files by the paths that they had before a move:
 * `node --import ./release/moved.ts script.ts`.
 */
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import moved from "./moved.json" with { type: "json" };

const ROOT = new URL("..", import.meta.url);
const paths: Record<string, string> = moved;

registerHooks({
  resolve(specifier, context, next) {
    if (!/^(?:\.|\/|file:)/.test(specifier)) return next(specifier, context);
    const path = fileURLToPath(new URL(specifier, context.parentURL)).slice(fileURLToPath(ROOT).length);
    const now = paths[path];
    return next(now === undefined ? specifier : new URL(now, ROOT).href, context);
  },
});
