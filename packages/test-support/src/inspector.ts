import { fileURLToPath } from "node:url";

/** The command line of the MCP Inspector. */
export const INSPECTOR = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
);
