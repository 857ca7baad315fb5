import { type ReactNode, useId } from "react";
import { Button, IconButton } from "../ui/button.tsx";
import { Field, Input, Textarea } from "../ui/field.tsx";
import { Select } from "../ui/select.tsx";
import { type Draft, type Fault, join } from "./draft.ts";
import type { FieldShape, Property } from "./field-shape.ts";

interface PartProps<Shape extends FieldShape = FieldShape> {
  shape: Shape;
  draft: Draft | undefined;
  onChange: (draft: Draft | undefined) => void;
  faults: readonly Fault[];
  path: string;
}

/** The fields of a group. Each of `faults` is shown at the field of its path. */
export function SchemaFields({ shape, draft, onChange, faults, path }: PartProps<FieldShape & { kind: "group" }>) {
  const drafts = (draft ?? {}) as Record<string, Draft | undefined>;
  return shape.properties.map((property) => (
    <PropertyField
      key={property.name}
      property={property}
      draft={Object.hasOwn(drafts, property.name) ? drafts[property.name] : undefined}
      onChange={(changed) => onChange({ ...drafts, [property.name]: changed })}
      faults={faults}
      path={join(path, property.name)}
    />
  ));
}

function PropertyField({ property, ...rest }: Omit<PartProps, "shape"> & { property: Property }) {
  const { name, required, shape } = property;
  const label = (
    <>
      <code className="font-mono text-sm font-medium">{name}</code>{" "}
      {required ? (
        <span className="text-muted ml-1 text-xs font-normal">required</span>
      ) : (
        <span className="text-faint ml-1 text-xs font-normal">optional</span>
      )}
    </>
  );
  return <AnyField {...rest} shape={shape} required={required} label={label} name={name} />;
}

interface AnyFieldProps extends PartProps {
  required: boolean;
  label: ReactNode;
  /** The label as text. */
  name: string;
}

function AnyField({ shape, ...rest }: AnyFieldProps) {
  if (shape.kind === "group") return <GroupField {...rest} shape={shape} />;
  if (shape.kind === "list") return <ListField {...rest} shape={shape} />;
  const { label, path, faults } = rest;
  return (
    <Field label={label} hint={hintOf(shape)} error={faults.find((fault) => fault.path === path)?.message}>
      <Control {...rest} shape={shape} />
    </Field>
  );
}

function Control({ shape, draft, onChange, required, name }: Omit<AnyFieldProps, "label">) {
  const text = typeof draft === "string" ? draft : "";
  const typed = { value: text, spellCheck: false, autoComplete: "off" } as const;
  if (shape.kind === "choice") {
    const values = shape.values.map((value) => ({ value: JSON.stringify(value), label: String(value) }));
    const none = { value: "", label: required ? (shape.nullable ? "null" : "Choose…") : notGiven(shape) };
    return <Select options={[none, ...values]} value={text} onChange={onChange} label={name} />;
  }
  if (shape.kind === "json")
    return (
      <Textarea
        {...typed}
        rows={3}
        placeholder="JSON"
        className="font-mono text-xs"
        onChange={(event) => onChange(event.target.value)}
      />
    );
  if (shape.kind === "text" && (shape.maxLength ?? 0) > 200)
    return <Textarea {...typed} rows={2} onChange={(event) => onChange(event.target.value)} />;
  return (
    <Input
      {...typed}
      inputMode={shape.kind === "number" ? (shape.kind === "number" && shape.integer ? "numeric" : "decimal") : "text"}
      placeholder={placeholderOf(shape, required)}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

function placeholderOf(shape: FieldShape, required: boolean): string {
  if (!required) return notGiven(shape);
  return shape.nullable ? "null" : "";
}

const notGiven = ({ default: fallback }: FieldShape): string =>
  fallback === undefined ? "not set" : `default: ${JSON.stringify(fallback)}`;

const GroupField = ({ shape, label, ...rest }: AnyFieldProps & { shape: FieldShape & { kind: "group" } }) => (
  <Fieldset label={label} shape={shape} faults={rest.faults} path={rest.path}>
    {shape.properties.length === 0 ? (
      <p className="text-muted text-xs">No properties.</p>
    ) : (
      <SchemaFields {...rest} shape={shape} />
    )}
  </Fieldset>
);

function ListField({
  shape,
  draft,
  onChange,
  label,
  name,
  faults,
  path,
}: AnyFieldProps & { shape: FieldShape & { kind: "list" } }) {
  const items = Array.isArray(draft) ? (draft as readonly Draft[]) : [];
  return (
    <Fieldset label={label} shape={shape} faults={faults} path={path}>
      {items.map((item, index) => (
        // Items have no identity other than their index.
        <div key={index} className="flex items-start gap-1">
          <div className="min-w-0 flex-1">
            <AnyField
              shape={shape.item}
              draft={item}
              required
              onChange={(changed) => onChange(items.with(index, changed ?? ""))}
              faults={faults}
              path={join(path, String(index))}
              name={`${name} ${index + 1}`}
              label={<span className="text-muted text-xs font-normal">{`${name} ${index + 1}`}</span>}
            />
          </div>
          <IconButton
            icon="close"
            label={`Remove ${name} ${index + 1}`}
            className="mt-5"
            onClick={() => onChange(items.toSpliced(index, 1))}
          />
        </div>
      ))}
      <div>
        <Button size="small" icon="plus" onClick={() => onChange([...items, ""])}>
          Add <span className="sr-only">to {name}</span>
        </Button>
      </div>
    </Fieldset>
  );
}

function Fieldset({
  label,
  shape,
  faults,
  path,
  children,
}: Pick<AnyFieldProps, "label" | "shape" | "faults" | "path"> & { children: ReactNode }) {
  const fault = faults.find((one) => one.path === path);
  const hint = hintOf(shape);
  const about = useId();
  return (
    <fieldset aria-describedby={about} className="grid min-w-0 gap-2">
      <legend>{label}</legend>
      <div id={about} className="empty:hidden">
        {hint !== undefined && <p className="text-muted text-xs">{hint}</p>}
        {fault && <p className="text-bad text-xs">{fault.message}</p>}
      </div>
      <div className="border-line grid gap-3 border-l-2 pl-3">{children}</div>
    </fieldset>
  );
}

/** The description by the owner and the limits of the schema. */
function hintOf(shape: FieldShape): string | undefined {
  const parts = [shape.description ?? shape.title, boundsOf(shape)].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(" · ");
}

function boundsOf(shape: FieldShape): string | undefined {
  switch (shape.kind) {
    case "text":
      return shape.format ?? between(shape.minLength || undefined, shape.maxLength, "characters");
    case "number":
      return [shape.integer ? "whole number" : "number", between(shape.minimum, shape.maximum, "")]
        .filter(Boolean)
        .join(", ");
    case "list":
      return between(shape.minItems || undefined, shape.maxItems, "items");
    case "json":
      return "JSON";
    default:
      return undefined;
  }
}

function between(min: number | undefined, max: number | undefined, unit: string): string | undefined {
  if (min === undefined && max === undefined) return undefined;
  const range = min === undefined ? `at most ${max}` : max === undefined ? `at least ${min}` : `${min} to ${max}`;
  return `${range} ${unit}`.trim();
}
