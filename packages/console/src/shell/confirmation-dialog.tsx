import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/api.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field, Input } from "../ui/field.tsx";
import { Fault } from "../ui/states.tsx";

/** `settle` is called with true once the password was taken, with false when it is closed without. */
export function ConfirmationDialog({ settle }: { settle: (confirmed: boolean) => void }) {
  return (
    <Dialog
      open
      onClose={() => settle(false)}
      title="Confirm that it is you"
      description="This changes who has access. You are asked once in 15 minutes."
    >
      <PasswordForm onConfirmed={() => settle(true)} />
    </Dialog>
  );
}

function PasswordForm({ onConfirmed }: { onConfirmed: () => void }) {
  const [password, setPassword] = useState("");
  const confirm = useMutation({
    mutationFn: () => api.post("/session/confirm", { body: { password } }),
    onSuccess: onConfirmed,
  });
  return (
    <form
      className="grid gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        confirm.mutate();
      }}
    >
      <Field label="Password">
        <Input
          type="password"
          autoComplete="current-password"
          required
          autoFocus
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </Field>
      <Fault error={confirm.error} />
      <Button type="submit" look="primary" busy={confirm.isPending} className="justify-self-end">
        Confirm
      </Button>
    </form>
  );
}
