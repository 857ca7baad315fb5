/** The path at which another server has mounted the control plane. Empty for a control plane that listens itself. */
export const PREFIX = /^(.*?)\/console(?:\/|$)/.exec(globalThis.location?.pathname ?? "")?.[1] ?? "";
