// The kit runs queries through the real control plane, so that what a test sees is what a user gets. That is a package of its
// own, which a program that only serves functions never needs: it is loaded here alone, when a test first runs a query.
import type * as ControlPlanePackage from "@patchbay/control-plane";

/** Throws an error that says what to install where the control plane is missing. */
export async function loadControlPlane(): Promise<typeof ControlPlanePackage> {
  try {
    return await import("@patchbay/control-plane");
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    // A package that the control plane itself misses has the same code.
    if (code !== "ERR_MODULE_NOT_FOUND" || !message.includes("'@patchbay/control-plane'")) throw error;
    throw new Error(
      "To run a whole query in a test, the control plane must be installed: npm install --save-dev @patchbay/control-plane",
      { cause: error },
    );
  }
}
