/** The access that a service's code gives: the matrix, its lock file, changes, and the reason for a decision on one call. */
export * from "@patchbay/runtime/access";
