import { secret as labelSecret, untrusted as labelUntrusted } from "@patchbay/functions";
import { z } from "zod";

/** What a result member may hold: a stranger's text, or data that must not leave the house. */
export type Label = "untrusted" | "secret";

const labels = new WeakMap<z.ZodType, Label>();

/** Marks an output member that strangers can write. */
export const untrusted = <S extends z.ZodType>(schema: S): S => marked(labelUntrusted(schema), "untrusted");

/** Marks an output member that must not leave the house. */
export const secret = <S extends z.ZodType>(schema: S): S => marked(labelSecret(schema), "secret");

function marked<S extends z.ZodType>(own: S, label: Label): S {
  labels.set(own, label);
  return own;
}

/** The labels on a member and on what contains it. An empty path is the whole result. */
export function labelsAt(schema: z.ZodType, path: readonly string[]): Label[] {
  const own = labels.get(schema);
  const [key = "", ...rest] = path;
  const part = path.length === 0 ? undefined : partOf(schema, key);
  return [...(own ? [own] : []), ...(part ? labelsAt(part, rest) : [])];
}

/** All labels in a schema. */
export function labelsIn(schema: z.ZodType): Label[] {
  const parts = schema instanceof z.ZodObject ? Object.values(schema.shape) : [];
  const element = schema instanceof z.ZodArray ? [schema.element as z.ZodType] : [];
  return [...labelsAt(schema, []), ...[...parts, ...element].flatMap(labelsIn)];
}

function partOf(schema: z.ZodType, key: string): z.ZodType | undefined {
  if (schema instanceof z.ZodArray) return schema.element as z.ZodType;
  return schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>)[key] : undefined;
}
