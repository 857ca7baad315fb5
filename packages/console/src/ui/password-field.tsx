import { useState } from "react";
import { Button } from "./button.tsx";
import { Field, Input } from "./field.tsx";

const LEAST = 12;

/** A new password. It can be shown, which saves typing it twice. */
export function PasswordField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  const [shown, setShown] = useState(false);
  return (
    <Field label={label} hint={`${LEAST} characters at least. A few words in a row are good.`}>
      <div className="flex gap-2">
        <Input
          type={shown ? "text" : "password"}
          autoComplete="new-password"
          required
          minLength={LEAST}
          maxLength={200}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
        <Button aria-pressed={shown} onClick={() => setShown(!shown)}>
          {shown ? "Hide" : "Show"}
        </Button>
      </div>
    </Field>
  );
}
