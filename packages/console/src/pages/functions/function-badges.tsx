import type { ConsoleFunction } from "@patchbay/protocol/console";
import { Badge, type Tone } from "../../ui/status.tsx";
import type { IconName } from "../../ui/icon.tsx";

const EFFECTS: Record<ConsoleFunction["effect"], { tone: Tone; icon: IconName }> = {
  read: { tone: "idle", icon: "search" },
  write: { tone: "info", icon: "edit" },
  destructive: { tone: "bad", icon: "alert" },
};

/** What a call does to the owner's data. */
export function Effect({ effect }: Pick<ConsoleFunction, "effect">) {
  return <Badge {...EFFECTS[effect]}>{effect}</Badge>;
}

/** Who may call it. A function that decides call by call says so. */
export function RoleBadges({ roles, conditional }: Pick<ConsoleFunction, "roles" | "conditional">) {
  return (
    <span className="inline-flex flex-wrap items-center gap-1">
      {roles === "everyone" ? (
        <Badge tone="ok">everyone</Badge>
      ) : roles.length === 0 ? (
        <Badge tone="warn" icon="denied">
          nobody
        </Badge>
      ) : (
        roles.map((role) => (
          <Badge key={role} tone="accent">
            {role}
          </Badge>
        ))
      )}
      {conditional && (
        <Badge tone="info" icon="branch">
          conditional
        </Badge>
      )}
    </span>
  );
}
