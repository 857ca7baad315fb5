/** API operations as service functions, by an OpenAPI document. */
export { type OpenApiFunctions, openapiFunctions } from "./openapi-functions.ts";
export type { Credentials, OpenApiOptions, OperationOverride } from "./options.ts";
