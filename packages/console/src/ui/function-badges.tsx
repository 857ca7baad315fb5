import type { ConsoleFunction } from "@patchbay/protocol/console";
import type { IconName } from "./icon.tsx";
import { Badge, type Tone } from "./status.tsx";

const EFFECTS: Record<ConsoleFunction["effect"], { tone: Tone; icon: IconName }> = {
  read: { tone: "idle", icon: "search" },
  write: { tone: "info", icon: "edit" },
  destructive: { tone: "bad", icon: "alert" },
};

/** A restricted field as shown: its path, or "the whole result" for `$`. */
export const fieldLabel = (path: string): string => (path === "$" ? "the whole result" : path);

/** What a call does to the owner's data. */
export function Effect({ effect }: Pick<ConsoleFunction, "effect">) {
  return <Badge {...EFFECTS[effect]}>{effect}</Badge>;
}

/** The roles that may call the function, and whether authorize() decides per call. */
export const RoleBadges = ({ roles, conditional }: Pick<ConsoleFunction, "roles" | "conditional">) => (
  <span className="inline-flex flex-wrap items-center gap-1">
    {roles === "everyone" ? (
      <Badge tone="ok">everyone</Badge>
    ) : roles.length === 0 ? (
      <Badge tone="warn" icon="denied">
        no role
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
