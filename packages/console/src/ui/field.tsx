import { Field as Base } from "@base-ui/react/field";
import { Input as BaseInput } from "@base-ui/react/input";
import { type ComponentProps, type ReactNode, useState } from "react";
import { classNames, controlClass } from "./class-names.ts";
import { Button } from "./button.tsx";

/** A control with its label, hint and error. `name` connects it to the faults of a form. */
export function Field({
  label,
  name,
  hint,
  error,
  className,
  children,
}: {
  label: ReactNode;
  name?: string;
  hint?: ReactNode;
  /** An error of the API or the page. The browser's own validation messages appear by themselves. */
  error?: string | undefined;
  className?: string;
  children: ReactNode;
}) {
  return (
    <Base.Root name={name} invalid={error !== undefined || undefined} className={classNames("grid gap-1", className)}>
      <Base.Label className="text-sm font-medium">{label}</Base.Label>
      {children}
      {hint !== undefined && <Base.Description className="text-muted text-xs">{hint}</Base.Description>}
      {error === undefined ? (
        <Base.Error className="text-bad text-xs" />
      ) : (
        <Base.Error match className="text-bad text-xs">
          {error}
        </Base.Error>
      )}
    </Base.Root>
  );
}

export function Input({
  className,
  ...rest
}: Omit<ComponentProps<typeof BaseInput>, "className"> & { className?: string }) {
  return <BaseInput {...rest} className={controlClass(className)} />;
}

export function Textarea({ className, ...rest }: ComponentProps<"textarea">) {
  return (
    <Base.Control
      render={<textarea {...rest} />}
      className={controlClass(classNames("h-auto min-h-20 resize-y py-1.5", className))}
    />
  );
}

interface PasswordProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

/** A field for the current password. */
export function PasswordField({ label, value, onChange, ...rest }: PasswordProps & { autoFocus?: boolean }) {
  return (
    <Field label={label}>
      <Input
        {...rest}
        type="password"
        autoComplete="current-password"
        required
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  );
}

const MIN_LENGTH = 12;

/** A field for a new password, which can be shown instead of being typed twice. */
export function NewPasswordField({ label, value, onChange }: PasswordProps) {
  const [shown, setShown] = useState(false);
  return (
    <Field label={label} hint={`At least ${MIN_LENGTH} characters, for example a few random words.`}>
      <div className="flex gap-2">
        <Input
          type={shown ? "text" : "password"}
          autoComplete="new-password"
          required
          minLength={MIN_LENGTH}
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
