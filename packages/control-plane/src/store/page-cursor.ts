import { isJsonObject, parseJson } from "@patchbay/protocol";
import { ServiceError } from "../ports/service-error.ts";

/** Where a page ended, in a list ordered by time and then by id. */
export interface PageEnd {
  at: number;
  id: string;
}

export function toCursor({ at, id }: PageEnd): string {
  return Buffer.from(JSON.stringify({ u: at, id })).toString("base64url");
}

export function parseCursor(cursor: string): PageEnd {
  const parsed = parseJson(Buffer.from(cursor, "base64url").toString());
  const value = parsed.ok && isJsonObject(parsed.value) ? parsed.value : {};
  const { u: at, id } = value;
  if (typeof at === "number" && Number.isSafeInteger(at) && typeof id === "string") return { at, id };
  const message = "is not one that this service gave; leave it out to begin at the first page";
  throw new ServiceError("invalid_request", `cursor ${message}`, { details: [{ path: "cursor", message }] });
}
