import { ModelError } from "@patchbay/engine/ports/model-provider";
import type { Profile } from "./profiles.ts";
import { usableKey } from "./provider-fetch.ts";

/** How requests reach a provider, and what they authenticate with. */
export interface Account {
  apiKey?: string | undefined;
  baseUrl?: string | undefined;
  profile?: Profile | undefined;
  /** Default: as the provider's own service wants it. */
  auth?: "bearer" | "header" | "aws" | "google" | "azure" | undefined;
  /** With `auth: "header"`. */
  header?: string | undefined;
  /** Further headers of each request. */
  headers?: Record<string, string> | undefined;
  apiVersion?: string | undefined;
  /** Of AWS or Google. */
  region?: string | undefined;
  /** Of Google. */
  project?: string | undefined;
  /** Google's credentials. Default: the machine's own. */
  keyFile?: string | undefined;
}

/** Rejects the import of a package that only some accounts need. */
export function notInstalled(auth: string, name: string): (cause: unknown) => never {
  return (cause) => {
    throw new ModelError("internal", `auth ${auth} needs a package that is not installed: npm install ${name}`, {
      cause,
    });
  };
}

/** The account's headers: its own, and the one with its key if that is not the provider's usual one, which null removes. */
export function headersOf(
  provider: string,
  { apiKey = "", auth, header, headers, apiVersion }: Account,
): Record<string, string | null> {
  const own = auth === "header" ? header : auth === "azure" && apiVersion === undefined ? "api-key" : undefined;
  return { ...headers, ...(own !== undefined && { Authorization: null, [own]: usableKey(provider, apiKey) }) };
}
