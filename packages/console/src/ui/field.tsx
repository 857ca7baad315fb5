import { Field as Base } from "@base-ui/react/field";
import { Input as BaseInput } from "@base-ui/react/input";
import type { ComponentProps, ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { controlClass } from "./control-class.ts";

/** A control with its label, what to know about it, and what is wrong with it. `name` ties it to the faults of a form. */
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
  /** Of the service or the page; the browser's own checks show by themselves. */
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
