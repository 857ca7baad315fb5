// Queries in tests run on the real control plane, so that a test sees what a user gets. The control plane is an optional peer
// dependency that a program which only serves functions does not need, so only this file imports it, on the first query.
import type * as ControlPlanePackage from "@patchbay/control-plane";
import type * as AdminEntry from "@patchbay/control-plane/admin";

/** Imports the control plane. Throws an error with the install command if the package is missing. */
export async function loadControlPlane(): Promise<typeof ControlPlanePackage & typeof AdminEntry> {
  try {
    return { ...(await import("@patchbay/control-plane")), ...(await import("@patchbay/control-plane/admin")) };
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    // The code is the same if the control plane is installed and one of its own dependencies is missing.
    if (code !== "ERR_MODULE_NOT_FOUND" || !message.includes("'@patchbay/control-plane'")) throw error;
    throw new Error(
      "To run a whole query in a test, install the control plane: npm install --save-dev @patchbay/control-plane",
      { cause: error },
    );
  }
}
