import * as crypto from "node:crypto";
import { ServiceError } from "../../ports/service-error.ts";
import { type Client, createFairQueue } from "../../http/fair-queue.ts";

/** argon2id, version 1.3: 19 MiB, two passes, one lane. Written into each hash, so that they can be raised later. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Each takes a thread of a small pool that file and database work shares, and 19 MiB. */
const AT_ONCE = 2;
/** About half a minute of work. */
const WAITING = 1_000;

export interface Passwords {
  hash(password: string, client: Client): Promise<string>;
  /** False for a wrong password, and, after as long a time, where there is no hash to compare with. */
  verify(password: string, stored: string | null | undefined, client: Client): Promise<boolean>;
}

/** Hashes passwords off the main thread, a few at a time, in turn for each client. Throws `unavailable` where too many wait. */
export function createPasswords(): Passwords {
  const busy = () => new ServiceError("unavailable", "Too many people are signing in. Try again in a moment.");
  const queue = createFairQueue({ atOnce: AT_ONCE, waiting: WAITING, busy });

  return {
    async hash(password, client) {
      const nonce = crypto.randomBytes(SALT_BYTES);
      return encode(nonce, await queue.run(client, () => derive(password, { nonce, ...COST })));
    },
    async verify(password, stored, client) {
      const known = stored ? parseHash(stored) : undefined;
      const { tag, ...parameters } = known ?? {
        ...COST,
        nonce: Buffer.alloc(SALT_BYTES),
        tag: Buffer.alloc(HASH_BYTES),
      };
      const derived = await queue.run(client, () => derive(password, parameters));
      return crypto.timingSafeEqual(derived, tag) && known !== undefined;
    },
  };
}

type Parameters = Omit<crypto.Argon2Parameters, "message" | "tagLength"> & { nonce: Buffer };

async function derive(password: string, parameters: Parameters): Promise<Buffer> {
  // Absent before Node 24.7, where all but passwords works.
  const argon2 = (crypto as Partial<typeof crypto>).argon2;
  if (!argon2)
    throw new ServiceError("unavailable", "Passwords need Node 24.7 or newer: update Node, then start again.");
  // One password may be typed as different code points on different keyboards.
  const message = password.normalize("NFKC");
  return new Promise((resolve, reject) => {
    argon2("argon2id", { ...parameters, message, tagLength: HASH_BYTES }, (error, tag) =>
      error ? reject(error) : resolve(tag),
    );
  });
}

/** The form that other programs read and write too. */
function encode(nonce: Buffer, tag: Buffer): string {
  const { memory, passes, parallelism } = COST;
  const text = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${text(nonce)}$${text(tag)}`;
}

const ENCODED = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

function parseHash(stored: string): Parameters & { tag: Buffer } {
  const [, memory, passes, parallelism, nonce = "", tag = ""] = ENCODED.exec(stored) ?? [];
  if (tag === "") throw new Error("a stored password hash is not of a known form");
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    nonce: Buffer.from(nonce, "base64"),
    tag: Buffer.from(tag, "base64"),
  };
}
