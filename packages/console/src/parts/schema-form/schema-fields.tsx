import { createContext, type ReactNode, useContext, useId } from "react";
import { Button } from "../../ui/button.tsx";
import { classNames } from "../../ui/class-names.ts";
import { Field, Input, Textarea } from "../../ui/form/field.tsx";
import { Select } from "../../ui/form/select.tsx";
import { chosenOf, type Draft, entryOf, type Fault, join, nameOf } from "./draft.ts";
import { AddButton, EntryLabel, RemoveButton } from "./entry-parts.tsx";
import type { FieldShape, Property } from "./field-shape.ts";
import { hintOf } from "./hints.ts";

interface PartProps<Shape extends FieldShape = FieldShape> {
  shape: Shape;
  draft: Draft | undefined;
  onChange: (draft: Draft | undefined) => void;
  path: string;
}

const Faults = createContext<readonly Fault[]>([]);

/** The message of the fault at this path. */
const useFault = (path: string): string | undefined => useContext(Faults).find((fault) => fault.path === path)?.message;

/** Argument fields. Each entry in `faults` is shown at the field with its path. */
export const SchemaFields = ({ faults, ...rest }: Omit<PartProps, "path"> & { faults: readonly Fault[] }) => (
  <Faults value={faults}>
    {rest.shape.kind === "group" ? (
      <GroupFields {...rest} shape={rest.shape} path="" />
    ) : (
      <AnyField {...rest} path="" required name="Arguments" label="Arguments" />
    )}
  </Faults>
);

function GroupFields({ shape, draft, onChange, path }: PartProps<FieldShape & { kind: "group" }>) {
  const drafts = (draft ?? {}) as Record<string, Draft | undefined>;
  return shape.properties.map((property) => (
    <PropertyField
      key={property.name}
      property={property}
      draft={Object.hasOwn(drafts, property.name) ? drafts[property.name] : undefined}
      onChange={(changed) => onChange({ ...drafts, [property.name]: changed })}
      path={join(path, property.name)}
    />
  ));
}

function PropertyField({ property, ...rest }: Omit<PartProps, "shape"> & { property: Property }) {
  const { name, required, shape } = property;
  if (shape.kind === "constant") return null;
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
  const error = useFault(rest.path);
  if (shape.kind === "group") return <GroupField {...rest} shape={shape} />;
  if (shape.kind === "list") return <ListField {...rest} shape={shape} />;
  if (shape.kind === "record") return <RecordField {...rest} shape={shape} />;
  if (shape.kind === "union") return <UnionField {...rest} shape={shape} />;
  return (
    <Field label={rest.label} hint={hintOf(shape)} error={error}>
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

function GroupField({ shape, ...rest }: AnyFieldProps & { shape: FieldShape & { kind: "group" } }) {
  const { label, name, required, draft, onChange } = rest;
  const omitted = !required && draft === undefined;
  return (
    <Fieldset label={label} shape={shape} path={rest.path}>
      {omitted ? (
        <AddButton name={name} verb="Set" onClick={() => onChange({})} />
      ) : shape.properties.length === 0 ? (
        <p className="text-muted text-xs">No properties.</p>
      ) : (
        <GroupFields {...rest} shape={shape} />
      )}
      {!required && !omitted && (
        <div>
          <Button size="small" look="ghost" icon="close" onClick={() => onChange(undefined)}>
            Remove <span className="sr-only">{name}</span>
          </Button>
        </div>
      )}
    </Fieldset>
  );
}

/** A choice between a union's options, and the chosen one's fields. */
function UnionField({ shape, label, ...rest }: AnyFieldProps & { shape: FieldShape & { kind: "union" } }) {
  const { draft, onChange, path, name, required } = rest;
  const { index, option, value } = chosenOf(shape, draft);
  const fault = useFault(path);
  const none = required ? (shape.nullable ? "null" : "Choose…") : notGiven(shape);
  const shown = shape.options
    .map((choice, at) => ({ value: String(at), label: choice.label, shape: choice.shape }))
    // Nothing chosen is null.
    .filter(
      (choice) => !(required && shape.nullable && choice.shape.kind === "constant" && choice.shape.value === null),
    );
  return (
    <div className="grid min-w-0 gap-2">
      <Field label={label} hint={hintOf(shape)} error={option ? undefined : fault}>
        <Select
          options={[{ value: "", label: none }, ...shown]}
          value={shown.some((choice) => choice.value === index) ? index : ""}
          onChange={(chosen) => onChange(chosen === "" ? undefined : { option: chosen })}
          label={name}
        />
      </Field>
      {option && option.shape.kind !== "constant" && (
        <div role="group" aria-label={`${name}: ${option.label}`} className="border-line grid gap-3 border-l-2 pl-3">
          {option.shape.kind === "group" ? (
            <GroupFields
              {...rest}
              shape={option.shape}
              draft={value}
              onChange={(next) => onChange({ option: index, value: next })}
            />
          ) : (
            <AnyField
              {...rest}
              shape={option.shape}
              required
              draft={value}
              onChange={(next) => onChange({ option: index, value: next })}
              name={`${name} (${option.label})`}
              label={<span className="text-muted text-xs font-normal">{option.label}</span>}
            />
          )}
        </div>
      )}
    </div>
  );
}

/** Names that the member types, each with its value's field. */
function RecordField({ shape, label, ...rest }: AnyFieldProps & { shape: FieldShape & { kind: "record" } }) {
  const { draft, onChange, name, path } = rest;
  const faults = useContext(Faults);
  const entries = Array.isArray(draft) ? (draft as readonly Draft[]) : [];
  // A value with its own fields needs the whole width.
  const beside = !["group", "union", "record", "list"].includes(shape.value.kind);
  const change = (index: number, changed: { name?: string; value?: Draft | undefined }) =>
    onChange(entries.with(index, { ...entryOf(entries[index]!), ...changed }));
  return (
    <Fieldset label={label} shape={shape} path={path}>
      {entries.map((entry, index) => {
        const at = join(path, String(index));
        const { name: own, value } = entryOf(entry);
        const error = faults.find((fault) => fault.path === nameOf(at))?.message;
        return (
          // Entries have no identity other than their index: their names are typed.
          <div
            key={index}
            role="group"
            aria-label={`${name} ${index + 1}`}
            className="border-line @container flex items-start gap-1 not-first:border-t not-first:pt-3"
          >
            <div className={classNames("grid min-w-0 flex-1 items-start gap-2", beside && "@xs:grid-cols-2")}>
              <Field label={<EntryLabel of={name}>{`name ${index + 1}`}</EntryLabel>} error={error}>
                <Input
                  value={own}
                  spellCheck={false}
                  autoComplete="off"
                  onChange={(event) => change(index, { name: event.target.value })}
                />
              </Field>
              <AnyField
                shape={shape.value}
                draft={value}
                required
                onChange={(next) => change(index, { value: next })}
                path={at}
                name={`${name} value ${index + 1}`}
                label={<EntryLabel of={name}>{`value ${index + 1}`}</EntryLabel>}
              />
            </div>
            <RemoveButton name={`${name} ${index + 1}`} onClick={() => onChange(entries.toSpliced(index, 1))} />
          </div>
        );
      })}
      <AddButton name={name} onClick={() => onChange([...entries, { name: "" }])} />
    </Fieldset>
  );
}

function ListField(props: AnyFieldProps & { shape: FieldShape & { kind: "list" } }) {
  const { shape, draft, onChange, label, name, path } = props;
  const items = Array.isArray(draft) ? (draft as readonly Draft[]) : [];
  return (
    <Fieldset label={label} shape={shape} path={path}>
      {items.map((item, index) => (
        // Items have no identity other than their index.
        <div key={index} className="flex items-start gap-1">
          <div className="min-w-0 flex-1">
            <AnyField
              shape={shape.item}
              draft={item}
              required
              onChange={(changed) => onChange(items.with(index, changed ?? ""))}
              path={join(path, String(index))}
              name={`${name} ${index + 1}`}
              label={<EntryLabel>{`${name} ${index + 1}`}</EntryLabel>}
            />
          </div>
          <RemoveButton name={`${name} ${index + 1}`} onClick={() => onChange(items.toSpliced(index, 1))} />
        </div>
      ))}
      <AddButton name={name} onClick={() => onChange([...items, ""])} />
    </Fieldset>
  );
}

type FieldsetProps = Pick<AnyFieldProps, "label" | "shape" | "path"> & { children: ReactNode };

function Fieldset({ label, shape, path, children }: FieldsetProps) {
  const fault = useFault(path);
  const hint = hintOf(shape);
  const about = useId();
  return (
    <fieldset aria-describedby={about} className="grid min-w-0 gap-2">
      <legend>{label}</legend>
      <div id={about} className="empty:hidden">
        {hint !== undefined && <p className="text-muted text-xs">{hint}</p>}
        {fault !== undefined && <p className="text-bad text-xs">{fault}</p>}
      </div>
      <div className="border-line grid gap-3 border-l-2 pl-3">{children}</div>
    </fieldset>
  );
}
