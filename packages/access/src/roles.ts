import type { CaseDecision, LockedFunction } from "@patchbay/protocol";
import {
  accessOf,
  type AccessChange,
  asks,
  casesOf,
  cellFor,
  forRoles,
  RANK,
  type RoleChange,
  subject,
} from "./sentences.ts";
import { type Steps, takeSteps } from "@patchbay/kit";
import { isSame } from "@patchbay/schema";

interface Roles {
  name: string;
  before: LockedFunction;
  after: LockedFunction;
  roles: readonly string[];
  steps: Steps;
}

const STEPS_OF_CELL = 10;
const STEPS_OF_CHANGE = 60;

/** Changed role lists and case verdicts. Throws `TooManySteps`. */
export function compareRoles(all: Roles): AccessChange[] {
  const { before, after, roles, steps } = all;
  takeSteps(steps, STEPS_OF_CELL * roles.length);
  const isOther = (role: string) => !isSame(cellFor(before, role), cellFor(after, role), { whole: true, steps });
  const changed = before.authorize === after.authorize ? roles.filter(isOther) : roles;
  takeSteps(steps, STEPS_OF_CHANGE * changed.length);
  return forRoles(
    changed.map((role) => ({ roles: [role], changes: [...compareCell(all, role), ...compareCaseNames(all, role)] })),
  );
}

function compareCell({ name, before, after }: Roles, role: string): RoleChange[] {
  const [was, is] = [cellFor(before, role), cellFor(after, role)];
  const [old, now] = [accessOf(was), accessOf(is)];
  const as = (kind: RoleChange["kind"], about: RoleChange["about"], text: string): RoleChange[] => [
    { kind, about, says: (roles) => `${subject(roles)} ${text}` },
  ];
  if (old === now && now === "conditional") {
    const cases = compareCases(name, casesOf(was), casesOf(is));
    if (before.authorize === true && after.authorize === false)
      return [...as("widening", "authorize", `gained calls of ${name}: it has no authorize any more`), ...cases];
    if (before.authorize === false && after.authorize === true)
      return [...as("narrowing", "authorize", `lost calls of ${name}: it has an authorize`), ...cases];
    return cases;
  }
  if (old === now) return [];
  if (old === "hidden")
    return as(
      "widening",
      "roles",
      `gained ${name}${after.authorize === false || now !== "conditional" ? "" : ", decided call by call"}${asks(after)}`,
    );
  if (now === "hidden") return as("narrowing", "roles", `lost ${name}`);
  // Only the approval decides, or decided, call by call: `compareApproval` reports the change.
  if (before.authorize === false && after.authorize === false) return [];
  if (now === "allowed")
    return as(
      "widening",
      "authorize",
      `gained every call of ${name}: nothing decides call by call any more${asks(after)}`,
    );
  return as("narrowing", "authorize", `lost calls of ${name}: it is now decided call by call`);
}

type Verdicts = Record<string, CaseDecision>;

/** Changed verdicts for cases on both sides. */
function compareCases(name: string, was: Verdicts, is: Verdicts): RoleChange[] {
  return Object.keys(is).flatMap((caseName): RoleChange[] => {
    if (!Object.hasOwn(was, caseName) || was[caseName] === is[caseName]) return [];
    const isMore = RANK[is[caseName]!] > RANK[was[caseName]!];
    const how =
      is[caseName] === "approval"
        ? ", after an approval"
        : was[caseName] === "approval" && isMore
          ? ", without an approval"
          : "";
    const says = (roles: readonly string[]) =>
      `${subject(roles)} ${isMore ? "gained" : "lost"} case ${caseName} of ${name}${how}`;
    return [{ kind: isMore ? "widening" : "narrowing", about: "authorize", says }];
  });
}

/** Added and removed cases. They change the knowledge about access, not access. */
function compareCaseNames({ name, before, after }: Roles, role: string): RoleChange[] {
  const [was, is] = [cellFor(before, role), cellFor(after, role)];
  if (accessOf(was) !== "conditional" || accessOf(is) !== "conditional") return [];
  const only = (some: Verdicts, others: Verdicts) =>
    Object.entries(some).filter(([caseName]) => !Object.hasOwn(others, caseName));
  return [
    ...only(casesOf(is), casesOf(was)).map(([caseName, verdict]): RoleChange => ({
      kind: "narrowing",
      about: "cases",
      says: (roles) => `case ${caseName} of ${name} is new for ${subject(roles)}: ${verdict}`,
    })),
    ...only(casesOf(was), casesOf(is)).map(([caseName, verdict]): RoleChange => ({
      kind: verdict === "allowed" ? "narrowing" : "widening",
      about: "cases",
      says: (roles) => `case ${caseName} of ${name} is gone for ${subject(roles)}: it was ${verdict}`,
    })),
  ];
}
