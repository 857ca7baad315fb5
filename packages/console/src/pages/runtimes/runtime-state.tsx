import type { Runtime } from "@patchbay/protocol/console";
import { Badge, Status } from "../../ui/values.tsx";

/** Whether a runtime is connected, and whether its function set waits for a confirmation. */
export const RuntimeState = ({ connected, draining, pending }: Pick<Runtime, "connected" | "draining" | "pending">) => (
  <span className="flex flex-wrap gap-1">
    <Status state={draining ? "draining" : connected ? "connected" : "disconnected"} />
    {connected && pending && (
      <Badge tone="warn" icon="clock">
        waiting for confirmation
      </Badge>
    )}
  </span>
);
