import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { PasswordField } from "../ui/field.tsx";
import { Form } from "../ui/form.tsx";

interface ConfirmationDialogProps {
  send: (password: string) => Promise<unknown>;
  settle: (confirmed: boolean) => void;
}

/** Asks for the password. Calls `settle` with true once `send` accepts it, with false when the member closes the dialog. */
export function ConfirmationDialog({ send, settle }: ConfirmationDialogProps) {
  const [password, setPassword] = useState("");
  const confirm = useMutation({ mutationFn: () => send(password), onSuccess: () => settle(true) });
  return (
    <Dialog
      open
      onClose={() => settle(false)}
      title="Confirm it's you"
      description="Changes to access require your password every 15 minutes."
    >
      <Form
        error={confirm.error}
        onSubmit={confirm.mutate}
        submit={
          <Button type="submit" look="primary" busy={confirm.isPending} className="justify-self-end">
            Confirm
          </Button>
        }
      >
        <PasswordField label="Password" value={password} onChange={setPassword} autoFocus />
      </Form>
    </Dialog>
  );
}
