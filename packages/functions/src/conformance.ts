/** Checks that a runtime in any language keeps the rules of the wire. */
export * from "@patchbay/conformance";
