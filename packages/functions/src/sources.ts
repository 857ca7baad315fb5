/** Servers whose tools are service functions, and what such a source needs. */
export * from "@patchbay/runtime/foreign-functions";
export * from "@patchbay/runtime/source-lock";
export * from "@patchbay/runtime/sources";
