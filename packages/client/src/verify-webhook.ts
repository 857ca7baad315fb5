import type { WebhookEvent } from "@patchbay/protocol";

/** A delivery that is not from the agent's webhook, was changed on its way, or is too old. Answer it with 400. */
export class WebhookSignatureError extends Error {
  override readonly name = "WebhookSignatureError";
}

export interface VerifyWebhookOptions {
  /** The body as it arrived: parsed and serialised again it may differ. */
  body: string | Uint8Array;
  /** The header `X-Patchbay-Signature`. */
  signature: string | readonly string[] | null | undefined;
  /** The webhook's secret, or several during a rotation. */
  secret: string | readonly string[];
  /** Largest difference in seconds between the attempt's time and this machine's clock. Default: 300. */
  toleranceSeconds?: number | undefined;
}

const MOST_SIGNATURES = 8;

/**
 * Checks a delivery's signature and time and returns its event. Throws `WebhookSignatureError`. The same delivery may
 * arrive more than once: its `id` is then the same. The comparison takes the same time whatever the signature is.
 */
export async function verifyWebhook(options: VerifyWebhookOptions): Promise<WebhookEvent> {
  const { body, signature, secret, toleranceSeconds = 300 } = options;
  const { time, candidates } = parse(typeof signature === "string" ? signature : signature?.join(","));
  // Also refuses if the tolerance is NaN.
  if (!(Math.abs(Date.now() / 1000 - time) <= toleranceSeconds))
    throw new WebhookSignatureError(`The delivery was signed more than ${toleranceSeconds} s before or after now.`);
  const encoder = new TextEncoder();
  const content = typeof body === "string" ? encoder.encode(body) : body;
  const prefix = encoder.encode(`${time}.`);
  const signed = new Uint8Array(prefix.length + content.length);
  signed.set(prefix);
  signed.set(content, prefix.length);
  for (const text of typeof secret === "string" ? [secret] : secret) {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    const key = await crypto.subtle.importKey("raw", encoder.encode(text), algorithm, false, ["verify"]);
    for (const candidate of candidates)
      if (await crypto.subtle.verify("HMAC", key, candidate, signed))
        return JSON.parse(new TextDecoder().decode(content)) as WebhookEvent;
  }
  throw new WebhookSignatureError("The signature is not one of this body with the secret of the webhook.");
}

/** Skips signatures with schemes other than `v1`. */
function parse(header: string | undefined): { time: number; candidates: Uint8Array<ArrayBuffer>[] } {
  const parts = (header ?? "").split(",").map((part) => part.trim());
  const valuesOf = (name: string) =>
    parts.filter((part) => part.startsWith(`${name}=`)).map((part) => part.slice(name.length + 1));
  const [time, ...others] = valuesOf("t");
  const candidates = valuesOf("v1").filter((hex) => /^[0-9a-f]{64}$/.test(hex));
  if (time === undefined || others.length > 0 || !/^\d{1,12}$/.test(time) || candidates.length === 0)
    throw new WebhookSignatureError("The header X-Patchbay-Signature is missing or malformed.");
  const bytes = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
  return { time: Number(time), candidates: candidates.slice(0, MOST_SIGNATURES).map(bytes) };
}
