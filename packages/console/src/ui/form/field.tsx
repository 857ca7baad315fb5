import { Field as Base } from "@base-ui/react/field";
import { Input as BaseInput } from "@base-ui/react/input";
import { type ComponentProps, type ReactNode, useState } from "react";
import { Button } from "../button.tsx";
import { classNames, controlClass } from "../class-names.ts";

interface FieldProps {
  label: ReactNode;
  hint?: ReactNode;
  /** An error from the API or the page. The browser's own validation messages appear by themselves. */
  error?: string | undefined;
  children: ReactNode;
}

/** A control with its label, hint and error. */
export const Field = ({ label, hint, error, children }: FieldProps) => (
  <Base.Root invalid={error !== undefined || undefined} className="grid gap-1">
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

type InputProps = Omit<ComponentProps<typeof BaseInput>, "className"> & { className?: string | undefined };

export const Input = ({ className, ...rest }: InputProps) => (
  <BaseInput {...rest} className={controlClass(className)} />
);

export const Textarea = ({ className, ...rest }: ComponentProps<"textarea">) => (
  <Base.Control
    render={<textarea {...rest} />}
    className={controlClass(classNames("h-auto min-h-20 resize-y py-1.5", className))}
  />
);

interface TextFieldProps
  extends
    Omit<FieldProps, "children">,
    Pick<ComponentProps<"input">, "autoComplete" | "autoFocus" | "className" | "inputMode" | "maxLength" | "minLength">,
    Pick<ComponentProps<"input">, "max" | "min" | "placeholder" | "readOnly" | "required" | "spellCheck" | "type"> {
  value: string;
  onChange: (value: string) => void;
  /** Makes it a field with several lines. */
  rows?: number;
}

/** A text field with its label, hint and error. */
export function TextField({ label, hint, error, onChange, rows, ...input }: TextFieldProps) {
  const control = { ...input, onChange: (event: { target: { value: string } }) => onChange(event.target.value) };
  return (
    <Field label={label} hint={hint} error={error}>
      {rows === undefined ? <Input {...control} /> : <Textarea {...control} rows={rows} />}
    </Field>
  );
}

/** A form's texts by name, the properties of the field for each, and a function that replaces the texts. */
export function useTexts<Name extends string>(initial: Record<Name, string>) {
  const [texts, setTexts] = useState(initial);
  const field = (name: Name) => ({
    value: texts[name],
    onChange: (text: string) => setTexts((before) => ({ ...before, [name]: text })),
  });
  return [texts, field, setTexts] as const;
}

type PasswordProps = Pick<TextFieldProps, "label" | "value" | "onChange" | "autoFocus">;

/** A field for the current password. */
export const PasswordField = (props: PasswordProps) => (
  <TextField {...props} type="password" autoComplete="current-password" required />
);

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
