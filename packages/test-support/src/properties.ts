import * as fc from "fast-check";

/** The same values on every machine, so that a change is judged by what it changes. `.ci/full` tries other seeds. */
fc.configureGlobal({ seed: Number(process.env["PATCHBAY_TEST_SEED"] ?? 2_026) });

export * from "fast-check";
