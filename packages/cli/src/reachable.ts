import type { ControlPlane } from "@patchbay/control-plane";

/** Where this machine finds the control plane: a wildcard is an address to listen on, not one to connect to. */
export function reachable({ port, url }: ControlPlane, host: string): string {
  if (host === "0.0.0.0") return `http://127.0.0.1:${port}`;
  return host === "::" ? `http://[::1]:${port}` : url;
}
