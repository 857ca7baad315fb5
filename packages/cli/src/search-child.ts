import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { type JudgeChild, type JudgeOptions, startJudge } from "@patchbay/access-lab/search/judge-process";

/** Next to this file, also once bundled: chunks are directly in dist, as this file is in src. */
const entry = fileURLToPath(new URL(`./search-process${extname(import.meta.filename)}`, import.meta.url));

/** Starts a process that judges calls to the service in `file`. */
export const launchJudge = (file: string, options?: JudgeOptions): Promise<JudgeChild> =>
  startJudge(entry, file, options);
