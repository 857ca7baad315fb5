import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";

/** This package's folder and, in a workspace, its siblings. */
const workspace = fileURLToPath(new URL("../../", import.meta.url));

/** Whether an owner wrote the file: neither a dependency nor Patchbay did. */
export function isOwners(path: string): boolean {
  const isPatchbay = path.startsWith(workspace) && /^[^/]+\/(src|dist)\//.test(path.slice(workspace.length));
  return isAbsolute(path) && !isPatchbay && !path.includes("/node_modules/");
}
