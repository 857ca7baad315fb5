import { unreachable } from "./api/api-error.ts";

/**
 * Fetches a page's code. Without the service the page says so, and can be tried again. Where the service is of a newer version
 * the code is gone: that error is passed on, for which the router loads the document anew.
 */
export async function pageCode<Module>(
  load: () => Promise<Module>,
  ask = () => fetch(import.meta.env.BASE_URL, { cache: "no-store" }),
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    const answer = await ask().catch(() => undefined);
    throw answer?.ok === true ? error : unreachable(error);
  }
}
