/** Creates a service in a new folder: the code of `npm create @patchbay` and of `patchbay init`. */
export { createService, describeCreated, type CreatedService } from "./create.ts";
export { CREATE_OPTIONS, type CreateOptions } from "./options.ts";
