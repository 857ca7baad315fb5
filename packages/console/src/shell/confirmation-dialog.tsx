import { useState } from "react";
import { FormDialog } from "../ui/form/dialog.tsx";
import { PasswordField } from "../ui/form/field.tsx";

interface ConfirmationDialogProps {
  send: (password: string) => Promise<unknown>;
  settle: (confirmed: boolean) => void;
}

/** Asks for the password. Calls `settle` with true once `send` accepts it, with false when the member closes the dialog. */
export function ConfirmationDialog({ send, settle }: ConfirmationDialogProps) {
  const [password, setPassword] = useState("");
  return (
    <FormDialog
      title="Confirm it's you"
      description="Changes to access require your password every 15 minutes."
      submit="Confirm"
      send={() => send(password)}
      onSent={() => settle(true)}
      onClose={() => settle(false)}
    >
      <PasswordField label="Password" value={password} onChange={setPassword} autoFocus />
    </FormDialog>
  );
}
