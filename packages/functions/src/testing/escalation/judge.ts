import type { AskedQuery } from "../desk-client.ts";
import type { LogLine } from "../log-lines.ts";
import { ROOT } from "../../redaction/paths.ts";
import type { Protection } from "../../redaction/protection.ts";
import type { Service } from "../../service.ts";
import type { HandlerRun } from "./instrument.ts";
import type { Mark } from "./marks.ts";
import { roleName } from "./report.ts";
import type { Scene, Stage } from "./stage.ts";

/** Judges what reached the runtime and which handlers ran. `behindPlane`: a control plane should have kept off what the list forbids. */
export async function judgeCalls(stage: Stage, scene: Scene, { behindPlane }: { behindPlane: boolean }): Promise<void> {
  const { effective } = scene;
  for (const { functionName, role } of scene.invocations.values()) {
    if (behindPlane && !stage.rules.isListed(functionName, effective))
      stage.found(
        scene,
        "dispatched",
        `the control plane let a call of ${quoted(functionName)} through to the runtime`,
      );
    if (role !== effective)
      stage.found(scene, "role", `a call of ${quoted(functionName)} reached the runtime as ${roleName(role)}`);
  }
  await Promise.all(scene.runs.map((run) => judgeRun(stage, scene, run)));
}

async function judgeRun(stage: Stage, scene: Scene, run: HandlerRun): Promise<void> {
  const { effective } = scene;
  const { functionName, callId, role } = run;
  const asked = scene.invocations.get(callId);
  if (!asked) return stage.found(scene, "ran", `${functionName} ran without a call`);
  if (asked.functionName !== functionName)
    return stage.found(scene, "ran", `${functionName} ran for a call of ${quoted(asked.functionName)}`);
  if (!stage.rules.isListed(functionName, effective))
    return stage.found(scene, "ran", `${functionName} ran, whose roles do not include ${roleName(effective)}`);
  if (role !== effective)
    stage.found(scene, "role", `the handler of ${functionName} was told the role ${roleName(role)}`);
  const ruling = await stage.rules.rule({ functionName, input: asked.arguments, context: asked.context }, effective);
  if (ruling !== "permitted")
    stage.found(
      scene,
      "ran",
      `${functionName} ran although ${ruling === "authorize" ? "authorize refuses" : "its schemas refuse"} the call`,
    );
}

/** Judges all that a query left behind: what the model was shown, and every place where a marked value could have got to. */
export function judgeQuery(stage: Stage, scene: Scene, finished: AskedQuery): void {
  for (const { functions } of finished.requests)
    for (const { name } of functions)
      if (!stage.rules.isListed(name, scene.effective)) stage.found(scene, "shown", `the model was shown ${name}`);

  const { log, history, ...read } = finished;
  judgePlaces(stage, scene, read);
  // Who may read the turns of a role may read those without one.
  judgePlaces(stage, scene, { history }, { alsoWithoutRole: true });
  judgeUpkeep(stage, scene, { log });
}

/** Marked values where this role can read them: none of another role's calls, none it is not to see, none of an error. */
export function judgePlaces(
  stage: Stage,
  scene: Pick<Scene, "attack" | "role"> & { effective: string | undefined },
  places: object,
  { alsoWithoutRole = false } = {},
): void {
  for (const { mark, path } of stage.marks.find(places)) {
    const what = forbiddenFor(stage, mark, scene.effective, alsoWithoutRole);
    if (what !== undefined) stage.found(scene, "leaked", `${what} is in ${plain(path)}`);
  }
}

/** Marked values where operators read: no result stands there, and an error of a handler in the runtime's log alone. */
export function judgeUpkeep(
  stage: Stage,
  scene: Pick<Scene, "attack" | "role">,
  { log, ...more }: { log: readonly LogLine[]; metrics?: string; audit?: unknown },
): void {
  const runtime = log.filter(({ from }) => from === "runtime");
  for (const { mark, path } of stage.marks.find({ runtime }))
    if (mark.kind !== "error") stage.found(scene, "leaked", `${nameOf(mark)} is in the runtime's log (${plain(path)})`);
  const plane = log.filter(({ from }) => from !== "runtime");
  for (const { mark, path } of stage.marks.find({ log: plane, ...more }))
    stage.found(scene, "leaked", `${nameOf(mark)} is in ${plain(path)} of the control plane`);
}

function forbiddenFor(
  { service }: Stage,
  mark: Mark,
  role: string | undefined,
  alsoWithoutRole: boolean,
): string | undefined {
  if (mark.kind === "error") return `the text of an error of ${mark.functionName}`;
  if (mark.kind === "withheld") return nameOf(mark);
  if (mark.role !== role)
    return alsoWithoutRole && mark.role === undefined
      ? undefined
      : `a result that ${roleName(mark.role)} got of ${mark.functionName}`;
  return isHidden(service, mark, role) ? `the protected ${nameOf(mark)}` : undefined;
}

const hiddenPlaces = new WeakMap<Protection, Map<string | undefined, string[]>>();

function isHidden({ access }: Service, { functionName, path }: Mark, role: string | undefined): boolean {
  const protection = access.get(functionName)?.protection;
  if (!protection) return false;
  let byRole = hiddenPlaces.get(protection);
  if (!byRole) hiddenPlaces.set(protection, (byRole = new Map()));
  let places = byRole.get(role);
  if (!places) byRole.set(role, (places = protection.hiddenFrom(role)));
  return places.some((place) => covers(place, path));
}

function covers(place: string, path: string): boolean {
  return place === ROOT || path === place || path.startsWith(`${place}.`) || path.startsWith(`${place}[`);
}

function nameOf({ kind, functionName, path }: Mark): string {
  if (kind === "error") return `the text of an error of ${functionName}`;
  if (kind === "withheld") return `a text that ${functionName} withheld`;
  return path === ROOT ? `result of ${functionName}` : `member ${path} of ${functionName}`;
}

/** Without the places in lists, so that the same leak is told once. */
const plain = (path: string): string => path.replaceAll(/\[\d+\]/g, "");

const quoted = (name: string): string => JSON.stringify(name);
