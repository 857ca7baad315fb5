// Queries in tests run on the real control plane, so that a test sees what a user gets. The control plane is an
// optional peer dependency, unnecessary for serving functions, so only this file imports it, on the first query.
import type * as ControlPlanePackage from "@patchbay/control-plane";
import type * as AdminEntry from "@patchbay/control-plane/admin";

/** The oldest Node.js that can load the control plane. Functions and their other tests run with older ones. */
const NEEDED = "24.7";

/**
 * Imports the control plane. If Node.js is too old or the package is missing, throws an error with the required
 * installation.
 */
export async function loadControlPlane(): Promise<typeof ControlPlanePackage & typeof AdminEntry> {
  const { node } = process.versions;
  if (node.localeCompare(NEEDED, "en", { numeric: true }) < 0)
    throw new Error(
      `A whole query in a test runs the control plane, which Node.js ${node} cannot load: it needs ${NEEDED} or newer. Run these tests with a newer version; callAs and the access matrix need none.`,
    );
  try {
    return { ...(await import("@patchbay/control-plane")), ...(await import("@patchbay/control-plane/admin")) };
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    // The code is the same if the control plane is installed and one of its own dependencies is missing.
    if (code !== "ERR_MODULE_NOT_FOUND" || !message.includes("'@patchbay/control-plane'")) throw error;
    throw new Error(
      "A whole query in a test runs the control plane, which is not installed. Run: npm install --save-dev @patchbay/control-plane",
      { cause: error },
    );
  }
}
