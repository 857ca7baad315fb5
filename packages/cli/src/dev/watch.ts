import { dirname, resolve, sep } from "node:path";
import { watch as watchFiles } from "chokidar";

/** What functions are written in. Data files are left out: functions may write them, and a reload would forget their memory. */
const SOURCE = /\.[cm]?[jt]sx?$/;
const SKIPPED = new Set(["node_modules", "dist"]);
const QUIET_MS = 50;

/**
 * Calls `onChange` once after each burst of changes to sources in the folder of `file`. Resolves when changes are seen;
 * the function it gives ends the watching.
 */
export async function watchSources(
  file: string,
  { dataDir, onChange }: { dataDir: string; onChange: () => void },
): Promise<() => Promise<void>> {
  const folder = dirname(file);
  const data = resolve(dataDir);
  const ignored = (path: string, stats?: { isFile(): boolean }) => {
    if (path === folder || path === file) return false;
    const name = path.slice(path.lastIndexOf(sep) + 1);
    return (
      name.startsWith(".") || SKIPPED.has(name) || path === data || (stats?.isFile() === true && !SOURCE.test(name))
    );
  };

  let quiet: NodeJS.Timeout | undefined;
  const watcher = watchFiles(folder, { ignored, ignoreInitial: true });
  const ready = Promise.withResolvers<void>();
  watcher.on("ready", ready.resolve);
  // Running out of watches must not end the service; what is watched already stays watched.
  watcher.on("error", () => ready.resolve());
  watcher.on("all", () => {
    clearTimeout(quiet);
    quiet = setTimeout(onChange, QUIET_MS);
  });
  await ready.promise;
  return async () => {
    clearTimeout(quiet);
    await watcher.close();
  };
}
