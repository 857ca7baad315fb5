/** Functions with roles, the service that checks their calls, and the runtime that connects them to a control plane. */
export * from "@patchbay/runtime";
