/** Times of the gateways of a cluster. Those after which a call fails are longer than a pause of a busy machine. */
export const TIMES = { heartbeatMs: 500, reconnectMs: 30_000, stopGraceMs: 150, arrivalMs: 1_000, callCheckMs: 2_000 };

/** For tests in which messages are lost or replicas fall silent: this is how soon the others find out. */
export const WATCHFUL = { callCheckMs: 150 };
