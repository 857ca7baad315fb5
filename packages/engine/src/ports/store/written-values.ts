/** What runs wrote after something untrusted, as digests. It only grows, and lasts as long as the agent. */
export interface WrittenValues {
  /** `values`: digests, true for texts. */
  noteWritten(of: { agentId: string; orgId: string }, values: ReadonlyMap<string, boolean>): Promise<void>;

  /** Those of the digests that a run of the agent wrote so; true for texts. */
  written(agentId: string, digests: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
}
