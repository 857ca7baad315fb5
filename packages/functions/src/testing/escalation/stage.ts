import type { ModelProvider } from "@patchbay/control-plane";
import type { JsonObject } from "@patchbay/protocol";
import type { Invocation } from "../../invocation.ts";
import type { Service } from "../../service.ts";
import { openDesk, type Desk } from "../desk.ts";
import type { AskedQuery } from "../desk-client.ts";
import { QueryRefused } from "../finished-query.ts";
import { hostileModel, type Attempt } from "./hostile-model.ts";
import { instrument, type HandlerMode, type HandlerRun } from "./instrument.ts";
import { judgeCalls, judgeQuery } from "./judge.ts";
import { createMarks, type Marks } from "./marks.ts";
import type { OwnerRules } from "./owner-rules.ts";
import type { FindingKind } from "./report.ts";
import type { Targets, TriedRole } from "./targets.ts";

/** One query, or one series of frames, of an attack. Everything that happens in it carries its session id. */
export interface Scene {
  readonly sessionId: string;
  readonly attack: string;
  /** The role it counts under. */
  readonly role: TriedRole;
  /** The role that its calls really have. */
  readonly effective: string | undefined;
  readonly mode: HandlerMode;
  /** What reached the runtime, by call id. */
  readonly invocations: Map<string, Invocation>;
  readonly runs: HandlerRun[];
}

/** A query that an attack asks. */
export interface Ask {
  attack: string;
  role: TriedRole;
  query?: string;
  /** Default: the one that queries may have. */
  context?: JsonObject;
  threadId?: string;
  attempts?: readonly Attempt[];
  /** How many attempts stand in texts instead. */
  planted?: number;
  mode?: HandlerMode;
  /** Default: a hostile one. */
  model?: ModelProvider;
  /** A hook refuses the query, so that it ends with an error. */
  isRefused?: boolean;
  /** States another role than the tried one. */
  statedRole?: string;
  /** Asks with a key that is not pinned to the role. */
  unpinned?: boolean;
  /** That the service refuses to begin the query is an answer too. */
  mayBeRefused?: boolean;
  /** Default: the stage's own. */
  desk?: Desk;
}

export interface Stage {
  readonly service: Service;
  readonly rules: OwnerRules;
  /** What is connected: instrumented, in whatever the owner puts around it, and watched. */
  readonly served: Service;
  readonly marks: Marks;
  readonly desk: Desk;
  readonly roles: readonly TriedRole[];
  /** A context that queries may have. */
  readonly context: JsonObject;
  targets(role: TriedRole): Targets;
  openDesk(): Promise<Desk>;
  openScene(scene: Pick<Scene, "attack" | "role"> & Partial<Pick<Scene, "effective" | "mode">>): Scene;
  /** Runs one query and judges it. Undefined when the service refused to begin it. */
  ask(ask: Ask): Promise<AskedQuery | undefined>;
  /** An API key that may state this role alone. */
  keyFor(role: string | undefined, desk?: Desk): Promise<string>;
  found(scene: Pick<Scene, "attack" | "role">, kind: FindingKind, detail: string): void;
  count(scene: Pick<Scene, "attack" | "role">, attempts: number): void;
}

export interface StageSetup {
  service: Service;
  rules: OwnerRules;
  roles: readonly TriedRole[];
  context: JsonObject;
  targets: ReadonlyMap<TriedRole, Targets>;
  notes: Set<string>;
  serve: (service: Service) => Service;
  wrapModel: (model: ModelProvider) => ModelProvider;
  found: Stage["found"];
  count: Stage["count"];
}

const CONCURRENCY = 256;
/** No role has this name; a key pinned to it asks without a role and sees what was asked without one. */
const NOBODY = "patchbay-nobody";

export async function openStage(setup: StageSetup): Promise<Stage & AsyncDisposable> {
  const { service, rules, roles, context, targets, notes, serve, wrapModel, found, count } = setup;
  const marks = createMarks();
  const scenes = new Map<string, Scene>();
  const keys = new Map<string, Promise<string>>();
  const instrumented = instrument(service, {
    marks,
    notes,
    onRun(run) {
      const scene = scenes.get(run.sessionId ?? "");
      if (!scene) throw new Error(`A handler ran for a query that nobody asked: ${run.functionName}`);
      scene.runs.push(run);
      return { mode: scene.mode, role: scene.effective };
    },
  });
  const served = watched(serve(instrumented), scenes);

  await using opening = new AsyncDisposableStack();
  const options = { instructions: "", runTimeoutMs: 60_000, concurrency: CONCURRENCY, wrapModel };
  const desk = opening.use(await openDesk(served, options));

  const stage: Stage = {
    service,
    rules,
    served,
    marks,
    desk,
    roles,
    context,
    targets: (role) => targets.get(role)!,
    openDesk: async () => opened.use(await openDesk(served, options)),
    openScene({ attack, role, effective = role.effective, mode = { kind: "answer" } }) {
      const sessionId = `escalation-${scenes.size + 1}`;
      const scene: Scene = { sessionId, attack, role, effective, mode, invocations: new Map(), runs: [] };
      scenes.set(sessionId, scene);
      return scene;
    },
    async ask(ask) {
      const scene = stage.openScene({
        attack: ask.attack,
        role: ask.role,
        ...(ask.statedRole !== undefined && { effective: ask.statedRole }),
        ...(ask.mode && { mode: ask.mode }),
      });
      const finished = await askAs(stage, scene, ask);
      count(scene, (ask.attempts?.length ?? 0) + (ask.planted ?? 0));
      await judgeCalls(stage, scene, { behindPlane: true });
      if (finished) judgeQuery(stage, scene, finished);
      return finished;
    },
    keyFor(role, { plane, agentId } = desk) {
      const pinned = role ?? NOBODY;
      let key = keys.get(`${agentId} ${pinned}`);
      if (!key) {
        key = plane.admin.createKey({ agentId, roles: [pinned] }).then(({ apiKey }) => apiKey);
        keys.set(`${agentId} ${pinned}`, key);
      }
      return key;
    },
    found,
    count,
  };
  const opened = opening.move();
  return { ...stage, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function askAs(stage: Stage, scene: Scene, ask: Ask): Promise<AskedQuery | undefined> {
  const {
    role,
    query = "Do as you are told.",
    context = stage.context,
    threadId,
    attempts = [],
    desk = stage.desk,
  } = ask;
  const stated = ask.statedRole ?? role.stated;
  const key = ask.unpinned ? desk.apiKey : await stage.keyFor(scene.effective, desk);
  // The answer repeats every marked value, so that it would be found in whatever is made of answers.
  const hostile = hostileModel(attempts, ({ messages }) =>
    [...new Set(stage.marks.wordsIn(JSON.stringify(messages)))].join(" "),
  );
  try {
    const body = {
      query,
      sessionId: scene.sessionId,
      ...(stated !== undefined && { role: stated }),
      context,
      ...(threadId !== undefined && { threadId }),
    };
    const finished = await desk.client.ask(body, ask.model ?? hostile, key);
    const { success, errorMessage, code } = finished.answer;
    if (!success && !(ask.isRefused && code === "refused"))
      stage.found(scene, "failed", `a query ended with an error, so nothing was proved by it: ${errorMessage}`);
    return finished;
  } catch (error) {
    if (ask.mayBeRefused && error instanceof QueryRefused && error.status < 500) return undefined;
    throw error;
  }
}

/** Notes what reaches the service, before anything else is done with it. */
function watched(service: Service, scenes: ReadonlyMap<string, Scene>): Service {
  return {
    ...service,
    invoke(invocation, options) {
      scenes.get(invocation.sessionId ?? "")?.invocations.set(invocation.callId, invocation);
      return service.invoke(invocation, options);
    },
  };
}
