/**
 * When a runtime was last connected. Its age excludes time in which no replica served the database: no runtime could
 * connect then.
 */
export interface LastSeen {
  /** Milliseconds since the epoch. */
  at: number;
  agoMs: number;
  /** Milliseconds since replicas resumed serving the database, if the runtime has not connected since. */
  startedAgoMs?: number;
}

/** When runtimes were connected, measured in time that replicas served the database. */
export interface ServiceTimes {
  /**
   * When the agent's runtimes were last connected or a function set was added, optionally only with one of these
   * function sets. Undefined without any.
   */
  lastSeen(agentId: string, manifestHashes?: readonly string[]): Promise<LastSeen | undefined>;
  /**
   * Records that a replica serves the database now: call it every 5 s. `begins`, at a start without other replicas:
   * closes connections that earlier processes left open, and excludes the time since the last record from runtimes'
   * ages.
   */
  recordServed(options: { begins: boolean }): Promise<void>;
}
