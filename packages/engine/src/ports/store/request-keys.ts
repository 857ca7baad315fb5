import type { JsonValue } from "@patchbay/kit";

/** A request to the console's API with an `Idempotency-Key`. */
export interface KeyedRequest {
  orgId: string;
  /** The member or the service token. */
  actorId: string;
  key: string;
  /** Hash of the route, the ids in its path and the body. */
  bodyHash: string;
}

/** The earlier request that has a key. Without `answer` it has not ended, as far as the store knows. */
export interface EarlierRequest {
  sameBody: boolean;
  /** What `finish` stored. */
  answer?: JsonValue;
}

/** Requests that ran once for their `Idempotency-Key`. A key is unique for 24 h per organisation and actor. */
export interface RequestKeyStore {
  /**
   * Takes the key, also an expired one. Returns the request that has it, if one does: among concurrent requests, one
   * takes it.
   */
  take(request: KeyedRequest): Promise<EarlierRequest | undefined>;
  /** Stores the answer for repetitions. */
  finish(request: KeyedRequest, answer: JsonValue): Promise<void>;
  /** Frees the key after a request that was refused and changed nothing. */
  free(request: KeyedRequest): Promise<void>;
}
