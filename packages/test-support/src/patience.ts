/** Multiplies the limits of tests, for machines that are many times slower than usual. A test that measures time has limits of its own. */
export const PATIENCE = Number(process.env["PATCHBAY_TEST_PATIENCE"] || 1);
if (!(PATIENCE > 0)) throw new Error("PATCHBAY_TEST_PATIENCE is not a positive number");

/** Limit of one wait for an event. Far more than a busy machine needs: only a failing test waits this long. */
export const WAIT_MS = 30_000 * PATIENCE;

/** Limit of a test and of a hook. */
export const TEST_MS = 120_000 * PATIENCE;
