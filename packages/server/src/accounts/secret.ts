import { createHash, randomInt } from "node:crypto";
import { crc32 } from "node:zlib";
import type { CredentialKind } from "@patchbay/engine/ports/store/stores";

/** A secret's purpose: an agent's credential, an API key's client token, or an organisation's service token. */
export type SecretKind = CredentialKind | "client" | "service";

const PREFIXES: Record<SecretKind, string> = {
  api: "service_live_",
  runtime: "patchbay_rt_",
  access: "patchbay_at_",
  client: "patchbay_ct_",
  service: "service_admin_",
};

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BODY_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const TAIL = new RegExp(`^[0-9A-Za-z]{${BODY_LENGTH + CHECKSUM_LENGTH}}$`);

/** A new secret: its kind's prefix, 30 random base62 characters (178 bits) and a 6-character checksum. */
export function generateSecret(kind: SecretKind): string {
  return withChecksum(PREFIXES[kind] + randomBase62(BODY_LENGTH));
}

/** False for text that cannot be a secret of this kind. This rejects typing errors without a database query. */
export function isWellFormed(kind: SecretKind, text: string): boolean {
  const prefix = PREFIXES[kind];
  if (!text.startsWith(prefix) || !TAIL.test(text.slice(prefix.length))) return false;
  return text === withChecksum(text.slice(0, -CHECKSUM_LENGTH));
}

/** A secret's stored hash. Secrets have too many bits to be guessed, so a slow password hash is not needed. */
export function hashSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** First and last four characters of the random part, by which people recognise a secret. */
export function hintOf(kind: SecretKind, secret: string): string {
  const body = secret.slice(PREFIXES[kind].length, -CHECKSUM_LENGTH);
  return `${body.slice(0, 4)}…${body.slice(-4)}`;
}

/** A new secret, with the id and the texts that are stored for it. */
export function makeSecret(kind: SecretKind, idPrefix: string) {
  const secret = generateSecret(kind);
  return { secret, id: `${idPrefix}_${randomBase62(22)}`, hash: hashSecret(secret), hint: hintOf(kind, secret) };
}

/** A secret for a console session or a one-time link (256 bits). */
export function newSecret(): string {
  return randomBase62(43);
}

export function randomBase62(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
}

function withChecksum(text: string): string {
  let rest = crc32(text);
  let checksum = "";
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    checksum = ALPHABET.charAt(rest % ALPHABET.length) + checksum;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text + checksum;
}
