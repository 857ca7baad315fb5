import * as crypto from "node:crypto";
import { type Client, createFairQueue } from "@patchbay/engine/ports/fair-queue";
import { ServiceError } from "@patchbay/engine/ports/service-error";

/** argon2id, version 1.3: 19 MiB, two passes, one lane. Each hash contains its parameters, so that they can be raised later. */
const COST = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Each hash uses 19 MiB and one thread from the small pool that file and database work shares. */
const CONCURRENT = 2;
/** About half a minute of hashing. */
const WAITING = 1_000;

/** Hashes passwords off the main thread, two at a time, and alternates between clients. Throws `unavailable` when the queue is full. */
export function createPasswords() {
  const busy = () => new ServiceError("unavailable", "Too many people are signing in. Try again in a moment.");
  const queue = createFairQueue({ concurrent: CONCURRENT, waiting: WAITING, busy });

  return {
    async hash(password: string, client: Client): Promise<string> {
      const nonce = crypto.randomBytes(SALT_BYTES);
      return encode(nonce, await queue.run(client, () => derive(password, { nonce, ...COST })));
    },
    /** False for a wrong password. Without a stored hash it is also false, after the same time. */
    async verify(password: string, stored: string | null | undefined, client: Client): Promise<boolean> {
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
  // Absent before Node 24.7, where everything except passwords works.
  const argon2 = (crypto as Partial<typeof crypto>).argon2;
  if (!argon2)
    throw new ServiceError("unavailable", "Passwords need Node 24.7 or newer: update Node, then start again.");
  // Keyboards produce different code points for the same character.
  const message = password.normalize("NFKC");
  return new Promise((resolve, reject) => {
    argon2("argon2id", { ...parameters, message, tagLength: HASH_BYTES }, (error, tag) =>
      error ? reject(error) : resolve(tag),
    );
  });
}

/** The PHC string format. */
function encode(nonce: Buffer, tag: Buffer): string {
  const { memory, passes, parallelism } = COST;
  const text = (bytes: Buffer) => bytes.toString("base64").replace(/=+$/, "");
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${text(nonce)}$${text(tag)}`;
}

const ENCODED = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

function parseHash(stored: string): Parameters & { tag: Buffer } {
  const [, memory, passes, parallelism, nonce = "", tag = ""] = ENCODED.exec(stored) ?? [];
  if (tag === "") throw new Error("a stored password hash has an unknown format");
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    nonce: Buffer.from(nonce, "base64"),
    tag: Buffer.from(tag, "base64"),
  };
}
