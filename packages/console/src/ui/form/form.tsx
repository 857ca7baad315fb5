import type { ConsoleRole } from "@patchbay/protocol/console";
import { type ReactNode, useState } from "react";
import { useHasRole } from "../../api/api.ts";
import { GuardedButton } from "../button.tsx";
import { TextField } from "./field.tsx";
import { Fault } from "../page.tsx";

interface FormProps {
  onSubmit: () => void;
  /** Shown below the fields. */
  error: unknown;
  className?: string | undefined;
  id?: string;
  /** Leaves field checks to the page instead of the browser. */
  noValidate?: boolean;
  children: ReactNode;
  /** The button that submits; omit it where a dialog's footer has it. */
  submit?: ReactNode;
}

/** A form that submits without leaving the page: its fields, the last attempt's error, and its button. */
export const Form = ({ onSubmit, error, className = "grid gap-4", submit, children, ...rest }: FormProps) => (
  <form
    {...rest}
    className={className}
    onSubmit={(event) => {
      event.preventDefault();
      onSubmit();
    }}
  >
    {children}
    <Fault error={error} />
    {submit}
  </form>
);

interface NameFormProps {
  /** The saved name. */
  name: string;
  hint: string;
  needs: ConsoleRole;
  rename: { mutate: (name: string) => void; isPending: boolean; error: unknown };
}

/** Renames something; members without the role `needs` see the name read-only. */
export function NameForm({ name: saved, hint, needs, rename }: NameFormProps) {
  const mayChange = useHasRole(needs);
  const [typed, setTyped] = useState(saved);
  const name = typed.trim();
  return (
    <Form
      className="grid gap-3"
      error={rename.error}
      onSubmit={() => rename.mutate(name)}
      submit={
        <GuardedButton
          needs={needs}
          type="submit"
          busy={rename.isPending}
          disabled={name === "" || name === saved}
          className="justify-self-start"
        >
          Save name
        </GuardedButton>
      }
    >
      <TextField
        label="Name"
        hint={hint}
        required
        maxLength={200}
        readOnly={!mayChange}
        value={typed}
        onChange={setTyped}
      />
    </Form>
  );
}
