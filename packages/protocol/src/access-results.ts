import type { Calls } from "./access-calls.ts";
import type { LockedFunction } from "./access-lock.ts";
import { at, narrowed, shortened } from "./access-places.ts";
import {
  type AccessChange,
  cellFor,
  change,
  forRoles,
  hidesOf,
  isRemoved,
  quote,
  type RoleChange,
  verb,
  who,
} from "./access-sentences.ts";
import { roleOfColumn } from "./access-surface.ts";
import { isJsonObject, type JsonObject } from "./json.ts";
import { marksIn, redactedFor } from "./schema-redaction.ts";
import { compareSchemas } from "./schema-widening.ts";

/** Compares what each role is really sent, for all roles at once that see the same marks. */
export function compareOutput(calls: Calls): AccessChange[] {
  const { name, before, after, callers } = calls;
  const [was, is] = [before.output, after.output];
  const members = () => forRoles(callers.map((role) => ({ roles: [role], changes: compareMembers(calls, role) })));
  if (was === undefined || is === undefined) {
    const gone = was !== undefined && was !== true;
    const unknown = `the output schema of ${name} is removed, so ${who(callers)} may see everything that its handler returns`;
    return [...(gone ? [change("widening", "output", unknown)] : []), ...members()];
  }
  if (was === true) return is === true ? [] : [change("narrowing", "output", `${name} has an output schema`)];
  if (is === true)
    return [
      change(
        "widening",
        "output",
        `${who(callers)} ${verb(callers, "sees", "see")} everything that the handler of ${name} returns: the output schema is removed`,
      ),
    ];
  const sees = (role: string) => [was, is].map((schema) => marksIn(schema).map((mark) => mark.includes(role)));
  const groups = Map.groupBy(callers, (role) => JSON.stringify(sees(role)));
  const lacksMarks = (one: LockedFunction, schema: JsonObject) =>
    marksIn(schema).length === 0 && callers.some((role) => hidesOf(cellFor(one, role)).length > 0);
  return [
    ...forRoles([...groups.values()].map((roles) => ({ roles, changes: compareResults(calls, was, is, roles[0]!) }))),
    // Runtimes of an earlier version send the marks next to the schema only.
    ...(lacksMarks(before, was) || lacksMarks(after, is) ? members() : []),
  ];
}

function compareResults(
  { name, before, after, budget }: Calls,
  was: JsonObject,
  is: JsonObject,
  role: string,
): RoleChange[] {
  const [old, now] = [was, is].map((schema) => redactedFor(schema, roleOfColumn(role))) as [JsonObject, JsonObject];
  const compared = compareSchemas(old, now, { results: true, budget });
  const [hidden, hides] = [before, after].map((one) => hidesOf(cellFor(one, role))) as [string[], string[]];
  const sees = (rest: string) => (roles: readonly string[]) =>
    `${who(roles)} now ${verb(roles, "sees", "see")} ${rest}`;
  return [
    ...shortened(compared.wider).map(({ path, reason, witness, kind }): RoleChange => {
      const member = `${quote(path)} of ${name}`;
      if (kind === "unproven")
        return { kind, about: "output", says: () => `the output of ${name} changed${at(path)}: ${reason}` };
      if (hidden.includes(path)) return { kind, about: "redaction", says: sees(member) };
      if (reason === "the property is new") return { kind, about: "output", says: sees(`${member}${witness}`) };
      return { kind, about: "output", says: sees(`more of ${name}${at(path)}: ${reason}${witness}`) };
    }),
    ...narrowed(compared).map(({ path }): RoleChange => {
      const isGone = isRemoved(path, hides) || namesMember(is, path) === false;
      return isGone
        ? hidesNow(name, path)
        : { kind: "narrowing", about: "output", says: sees(`less of ${name}${at(path)}`) };
    }),
  ];
}

const hidesNow = (name: string, path: string): RoleChange => ({
  kind: "narrowing",
  about: "redaction",
  says: (roles) => `${who(roles)} ${verb(roles, "does", "do")} not see ${quote(path)} of ${name}`,
});

/** Without schemas on both sides, only the removed places are known. */
function compareMembers({ name, before, after }: Calls, role: string): RoleChange[] {
  const [was, is] = [before, after].map((one) => hidesOf(cellFor(one, role))) as [string[], string[]];
  return [
    ...was
      .filter((path) => !isRemoved(path, is))
      .map((path): RoleChange => {
        const says = (roles: readonly string[]) =>
          `${who(roles)} now ${verb(roles, "sees", "see")} ${quote(path)} of ${name}`;
        return { kind: "widening", about: "redaction", says };
      }),
    ...is.filter((path) => !isRemoved(path, was)).map((path) => hidesNow(name, path)),
  ];
}

/** False if the root object does not list a member of this name. Undefined for a deeper path. */
function namesMember({ properties }: JsonObject, path: string): boolean | undefined {
  if (/[.[]/.test(path) || !isJsonObject(properties)) return undefined;
  return Object.hasOwn(properties, path);
}
