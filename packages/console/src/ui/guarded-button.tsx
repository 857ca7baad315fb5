import type { ConsoleRole } from "@patchbay/protocol/console";
import type { ComponentProps } from "react";
import { useMay, useSession } from "../state/session.ts";
import { Button } from "./button.tsx";
import { Tooltip } from "./tooltip.tsx";

/** A button that everybody sees and members of a role or a higher one may press; others are told who may. */
export function GuardedButton({ needs, ...rest }: ComponentProps<typeof Button> & { needs: ConsoleRole }) {
  const { member } = useSession();
  if (useMay(needs)) return <Button {...rest} />;
  const who = needs === "owner" ? "An owner" : "A developer or an owner";
  return (
    <Tooltip content={`${who} of the organisation may do this. Your role is ${member.role}.`}>
      <Button {...rest} disabled />
    </Tooltip>
  );
}
