import type { Manifest } from "@patchbay/protocol";

/** Where a runtime connects, and as what. Travels over the channel between the two processes, never on a command line. */
export interface Link {
  url: string;
  agentId: string;
  key: string;
}

/** What `dev` tells the process that runs the functions. */
export type ToRuntime =
  | { type: "connect"; link: Link }
  /** The control plane is about to go for good: a lost link is no news. */
  | { type: "expectLoss" }
  | { type: "stop" };

/** What that process tells `dev`. */
export type FromRuntime =
  | { type: "loaded"; manifest: Manifest }
  | { type: "connected" }
  /** It cannot serve and is about to end; `reason` is for people and may have several lines. */
  | { type: "failed"; reason: string };
