import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What is needed to use a development service, in clear text: for development alone. */
export interface DevCredentials {
  orgId: string;
  agentId: string;
  apiKey: string;
  runtimeKey: string;
  accessToken: string;
  /** Where the service was when it last started. */
  baseUrl?: string;
}

const fileIn = (dataDir: string) => join(dataDir, "dev-credentials.json");

/** The kept credentials; undefined where there are none that can be read. */
export function readDevCredentials(dataDir: string): DevCredentials | undefined {
  try {
    return JSON.parse(readFileSync(fileIn(dataDir), "utf8")) as DevCredentials;
  } catch {
    return undefined;
  }
}
