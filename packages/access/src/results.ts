import type { Calls } from "./calls.ts";
import type { LockedFunction } from "@patchbay/protocol";
import { at, narrowed, shortened } from "./paths.ts";
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
} from "./sentences.ts";
import { roleOfColumn } from "./surface.ts";
import { isJsonObject, type JsonObject, type Steps, takeSteps, within } from "@patchbay/kit";
import { marksIn, redactedFor, compareSchemas, TOO_MANY_STEPS, isSame } from "@patchbay/schema";

/** Compares what each role receives, once for all roles with the same marks. */
export function compareOutput(calls: Calls): AccessChange[] {
  const { name, before, after, callers, steps } = calls;
  const [was, is] = [before.output, after.output];
  const members = (own: Steps) =>
    forRoles(callers.map((role) => ({ roles: [role], changes: compareMembers({ ...calls, steps: own }, role) })));
  const unproven = (about: AccessChange["about"]) => [
    change("unproven", about, `the output of ${name} changed: ${TOO_MANY_STEPS}`),
  ];
  if (was === undefined || is === undefined) {
    const gone = was !== undefined && was !== true;
    const unknown = `the output schema of ${name} is removed, so ${who(callers)} may see everything that its handler returns`;
    const redacted = within(steps, steps.left / 2, members, () => unproven("redaction"));
    return [...(gone ? [change("widening", "output", unknown)] : []), ...redacted];
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
  const described = (own: Steps) => compareDescribed({ ...calls, steps: own }, was, is);
  // Earlier runtimes send the marks only next to the schema.
  const lacksMarks = (locked: LockedFunction, schema: JsonObject, own: Steps) =>
    callers.some((role) => hidesOf(cellFor(locked, role)).size > 0) && marksIn(schema, own).length === 0;
  const isHiddenElse = callers.some((role) => !isSame(cellFor(before, role), cellFor(after, role), { whole: true }));
  return [
    ...(isSame(was, is, { whole: true }) ? [] : within(steps, steps.left / 2, described, () => unproven("output"))),
    ...within(
      steps,
      steps.left / 2,
      (own) => (isHiddenElse && (lacksMarks(before, was, own) || lacksMarks(after, is, own)) ? members(own) : []),
      () => unproven("redaction"),
    ),
  ];
}

/** Compares two schemas, once for all roles with the same marks. */
function compareDescribed(calls: Calls, was: JsonObject, is: JsonObject): AccessChange[] {
  const { callers, steps } = calls;
  const marks = [...marksIn(was, steps), "", ...marksIn(is, steps)];
  takeSteps(steps, callers.length * marks.reduce((sum, mark) => sum + STEPS_OF_MARK + mark.length, 0));
  const groups = Map.groupBy(callers, (role) => marks.map((mark) => (mark.includes(role) ? "1" : "0")).join(""));
  return forRoles([...groups.values()].map((roles) => ({ roles, changes: compareResults(calls, was, is, roles[0]!) })));
}

const STEPS_OF_MARK = 3;
const STEPS_OF_MEMBER = 40;

function compareResults(
  { name, before, after, steps }: Calls,
  was: JsonObject,
  is: JsonObject,
  role: string,
): RoleChange[] {
  const [old, now] = [was, is].map((schema) => redactedFor(schema, roleOfColumn(role), steps)) as [
    JsonObject,
    JsonObject,
  ];
  const compared = compareSchemas(old, now, { results: true, steps });
  const [hidden, hides] = [hidesOf(cellFor(before, role)), hidesOf(cellFor(after, role))];
  const sees = (rest: string) => (roles: readonly string[]) =>
    `${who(roles)} now ${verb(roles, "sees", "see")} ${rest}`;
  return [
    ...shortened(compared.wider).map(({ path, reason, witness, kind }): RoleChange => {
      const member = `${quote(path)} of ${name}`;
      if (kind === "unproven")
        return { kind, about: "output", says: () => `the output of ${name} changed${at(path)}: ${reason}` };
      if (hidden.has(path)) return { kind, about: "redaction", says: sees(member) };
      if (reason === "the property is new") return { kind, about: "output", says: sees(`${member}${witness}`) };
      return { kind, about: "output", says: sees(`more of ${name}${at(path)}: ${reason}${witness}`) };
    }),
    ...narrowed(compared).map(({ path }): RoleChange => {
      const isGone = isRemoved(path, hides, steps) || namesMember(is, path) === false;
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
function compareMembers({ name, before, after, steps }: Calls, role: string): RoleChange[] {
  const [was, is] = [hidesOf(cellFor(before, role)), hidesOf(cellFor(after, role))];
  takeSteps(steps, STEPS_OF_MEMBER * (was.size + is.size));
  return [
    ...[...was]
      .filter((path) => !isRemoved(path, is, steps))
      .map((path): RoleChange => {
        const says = (roles: readonly string[]) =>
          `${who(roles)} now ${verb(roles, "sees", "see")} ${quote(path)} of ${name}`;
        return { kind: "widening", about: "redaction", says };
      }),
    ...[...is].filter((path) => !isRemoved(path, was, steps)).map((path) => hidesNow(name, path)),
  ];
}

/** False if the root object lists no member with this name. Undefined for a deeper path. */
function namesMember({ properties }: JsonObject, path: string): boolean | undefined {
  if (/[.[]/.test(path) || !isJsonObject(properties)) return undefined;
  return Object.hasOwn(properties, path);
}
