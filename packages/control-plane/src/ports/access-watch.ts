/** What a connection or a stream was opened with. */
export type Access = { kind: "credential" | "session"; id: string };

/** Ends what stays open after the access that it was opened with was taken away. */
export interface AccessWatch {
  /**
   * Calls `end` when the credential is revoked or expired, its agent deleted, or the session over, until disposed. That takes
   * a few seconds; while the store is out of reach nothing ends.
   */
  hold(access: Access, end: () => void): Disposable;
}
