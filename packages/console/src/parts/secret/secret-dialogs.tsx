import { type ComponentProps, type ReactNode, useState } from "react";
import { Button } from "../../ui/button.tsx";
import { Secret } from "../../ui/copy.tsx";
import { Dialog, FormDialog } from "../../ui/form/dialog.tsx";
import { Field } from "../../ui/form/field.tsx";
import { Select } from "../../ui/form/select.tsx";

interface NewSecretProps extends Pick<ComponentProps<typeof Dialog>, "title" | "onClose" | "wide"> {
  label: string;
  secret: string;
  /** How to use it. */
  children?: ReactNode;
}

/** Shows a new secret; the API does not return it again. */
export const NewSecret = ({ label, secret, children, ...dialog }: NewSecretProps) => (
  <Dialog
    {...dialog}
    open
    sticky
    description="Copy it now: it is shown only once."
    footer={
      <Button look="primary" onClick={dialog.onClose}>
        Done
      </Button>
    }
  >
    <div className="grid gap-3">
      <Secret label={label} secret={secret} />
      {children}
    </div>
  </Dialog>
);

/** When a new secret expires, in days. */
const EXPIRIES = [
  { value: "", label: "Never" },
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
];

export const ExpiryField = ({ days, onChange }: { days: string; onChange: (days: string) => void }) => (
  <Field label="Expires">
    <Select options={EXPIRIES} value={days} onChange={onChange} />
  </Field>
);

/** How long an old secret stays valid after a rotation, in seconds. */
const OVERLAPS = [
  { value: "0", label: "None: the old secret stops working immediately" },
  { value: "3600", label: "1 hour" },
  { value: "86400", label: "24 hours" },
  { value: "604800", label: "7 days" },
];

interface RotateProps<Answer> extends Omit<ComponentProps<typeof FormDialog<Answer>>, "send" | "submit" | "children"> {
  hint?: string;
  send: (overlapSeconds: number) => Promise<Answer>;
  /** What ends without an overlap. */
  ends?: string;
}

/** Replaces a secret; the old one stays valid for the overlap. */
export function RotateSecret<Answer>({ hint = OVERLAP_HINT, send, ends, ...dialog }: RotateProps<Answer>) {
  const [seconds, setSeconds] = useState("86400");
  return (
    <FormDialog {...dialog} submit="Rotate" send={() => send(Number(seconds))}>
      <Field label="Overlap" hint={hint}>
        <Select options={OVERLAPS} value={seconds} onChange={setSeconds} />
      </Field>
      {seconds === "0" && ends !== undefined && <p className="text-warn text-sm">{ends}</p>}
    </FormDialog>
  );
}

const OVERLAP_HINT = "How long the old secret keeps working while you deploy the new one";
