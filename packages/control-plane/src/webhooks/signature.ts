import { createHmac } from "node:crypto";

/**
 * Signs a body with each secret: HMAC-SHA-256 of `SECONDS.BODY`, so that a recorded delivery cannot be sent again later. Receivers
 * accept any of the signatures; `verifyWebhook` of the client does.
 */
export function signatureOf(secrets: readonly string[], body: string, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000);
  const signatures = secrets.map((secret) => createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex"));
  return [`t=${seconds}`, ...signatures.map((signature) => `v1=${signature}`)].join(",");
}
