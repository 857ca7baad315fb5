import type { Invitation } from "@patchbay/protocol/console";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Time } from "../../ui/figures.tsx";
import { Secret } from "../../ui/secret.tsx";

/** The link of an invitation, shown this once. */
export function InvitationLink({ invitation, onClose }: { invitation: Invitation; onClose: () => void }) {
  const { member, link, expiresAt } = invitation;
  return (
    <Dialog
      open
      onClose={onClose}
      sticky
      title={`A link for ${member.email ?? member.name}`}
      description="Copy it now: it is shown this once."
      footer={
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <div className="grid gap-3">
        <Secret label="One-time link" secret={link} />
        <p className="text-muted text-sm text-pretty">
          {member.email === null
            ? "It signs in as this member."
            : "Patchbay sends no e-mail: pass the link on yourself, in a way that you trust. It sets the password of this member."}{" "}
          It works once, until <Time at={expiresAt} exact />.
        </p>
      </div>
    </Dialog>
  );
}
