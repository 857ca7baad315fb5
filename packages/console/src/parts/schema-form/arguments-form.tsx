import { isJsonObject } from "@patchbay/kit";
import { useState } from "react";
import { Textarea } from "../../ui/form/field.tsx";
import { Segmented } from "../../ui/form/toggle.tsx";
import { type Draft, draftOf, type Fault, readDraft } from "./draft.ts";
import type { FieldShape } from "./field-shape.ts";
import { SchemaFields } from "./schema-fields.tsx";

/** Arguments as entered: in form fields, or as JSON. */
export type ArgumentsDraft = { as: "form"; draft: Draft | undefined } | { as: "json"; text: string };

export type Arguments = Record<string, unknown>;

/** An empty draft: a form, or JSON for a schema that a form cannot show. */
export const emptyArguments = (shape: FieldShape): ArgumentsDraft =>
  shape.kind === "json" ? { as: "json", text: "{}" } : { as: "form", draft: undefined };

/**
 * Reads the entered arguments. Returns faults in form fields, or in JSON that is not an object; JSON is not checked
 * against the schema.
 */
export function readArguments(shape: FieldShape, written: ArgumentsDraft): { value: Arguments; faults: Fault[] } {
  if (written.as === "form") {
    const { value, faults } = readDraft(shape, written.draft);
    return { value: value as Arguments, faults };
  }
  return readJsonObject(written.text);
}

/** Parses a JSON object. */
export function readJsonObject(text: string): { value: Arguments; faults: Fault[] } {
  const fault = (message: string) => ({ value: {}, faults: [{ path: "", message }] });
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? { value, faults: [] } : fault("Enter a JSON object, for example {}");
  } catch (error) {
    return fault(`Invalid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

interface ArgumentsFormProps {
  shape: FieldShape;
  written: ArgumentsDraft;
  onChange: (written: ArgumentsDraft) => void;
  /** Faults to show. Leave empty until the first attempt to send. */
  faults: readonly Fault[];
}

/** A form generated from a schema, which can switch to a JSON editor with the same value. */
export function ArgumentsForm({ shape, written, onChange, faults }: ArgumentsFormProps) {
  const [switchError, setSwitchError] = useState<string>();
  const change = (next: ArgumentsDraft): void => {
    setSwitchError(undefined);
    onChange(next);
  };
  const toJson = () => change({ as: "json", text: JSON.stringify(readArguments(shape, written).value, null, 2) });
  const toForm = (): void => {
    const { value, faults: unread } = readArguments(shape, written);
    const { draft, unfit } = draftOf(shape, value);
    if (unread[0]) setSwitchError(`${unread[0].message}. Fix it to return to the form.`);
    else if (unfit !== undefined)
      setSwitchError(
        `The form cannot show ${unfit === "" ? "this value" : `the value of “${unfit}”`}. You can still send it as JSON.`,
      );
    else change({ as: "form", draft });
  };
  return (
    <div className="grid min-w-0 gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 className="text-base font-semibold">Arguments</h2>
        {shape.kind !== "json" ? (
          <Segmented
            label="Input format"
            options={[
              { value: "form", label: "Form" },
              { value: "json", label: "JSON" },
            ]}
            value={written.as}
            onChange={(as) => (as === "json" ? toJson() : toForm())}
          />
        ) : (
          <span className="text-muted text-xs">The schema is too complex for a form</span>
        )}
      </div>
      {written.as === "json" ? (
        <JsonEditor
          label="Arguments as JSON"
          text={written.text}
          onChange={(text) => change({ as: "json", text })}
          error={switchError ?? faults[0]?.message}
        />
      ) : shape.kind !== "group" || shape.properties.length > 0 ? (
        <SchemaFields
          shape={shape}
          draft={written.draft}
          onChange={(draft) => change({ as: "form", draft })}
          faults={faults}
        />
      ) : (
        <p className="text-muted text-sm">This function takes no arguments.</p>
      )}
    </div>
  );
}

interface JsonEditorProps {
  label: string;
  text: string;
  onChange: (text: string) => void;
  error?: string | undefined;
  rows?: number;
}

export const JsonEditor = ({ label, text, onChange, error, rows = 10 }: JsonEditorProps) => (
  <div className="grid gap-1">
    <Textarea
      aria-label={label}
      aria-invalid={error !== undefined || undefined}
      rows={rows}
      spellCheck={false}
      value={text}
      onChange={(event) => onChange(event.target.value)}
      className="font-mono text-xs leading-5"
    />
    {error !== undefined && (
      <p role="alert" className="text-bad text-xs">
        {error}
      </p>
    )}
  </div>
);
