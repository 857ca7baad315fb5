import type { JsonObject } from "@patchbay/kit";
import { startLocalServer, type StartPlanes } from "@patchbay/test-kit/local-server";
import { obedientModels } from "./obedient-model.ts";
import { areChanges, isMatch, Records, type Changes } from "./records.ts";
import { type Attack, BROAD_ROLE, type Call, serviceOf, type ServiceSetting, type Suite, type Task } from "./suite.ts";

/** How a suite is deployed. */
export interface Setting extends ServiceSetting {
  name: string;
  /** The role that a task's queries state. */
  role(task: Task): string;
}

export const SETTINGS: readonly Setting[] = [
  { name: "one role", role: () => BROAD_ROLE },
  { name: "role per task", role: ({ name }) => name },
  {
    name: "approval",
    role: () => BROAD_ROLE,
    options: ({ effect }) => (effect === "destructive" ? { approval: { by: ["caller"] } } : {}),
  },
  { name: "flows ask", role: () => BROAD_ROLE, flows: { mode: "ask", by: ["caller"] } },
  { name: "flows deny", role: () => BROAD_ROLE, flows: { mode: "deny" } },
];

export type Fate = "untouched" | "asked" | "broken";

export interface PlayedTask {
  task: Task;
  fate: Fate;
  changes: Changes;
  /** Processor time of the whole product in each round, in microseconds. */
  costsUs: number[];
  calls: number;
}

export interface PlayedAttack {
  attack: Attack;
  task: Task;
  /** True if the records have the attacker's target, although every person who was asked refused. */
  reached: boolean;
  asked: boolean;
}

/** A suite on a running control plane with a connected runtime. */
export interface Stage extends AsyncDisposable {
  playTask(task: Task): Promise<PlayedTask>;
  playAttack(attack: Attack, task: Task): Promise<PlayedAttack>;
}

export async function startStage(suite: Suite, setting: Setting, startPlanes?: StartPlanes): Promise<Stage> {
  const sessions = new Map<string, Records>();
  const server = await startLocalServer(serviceOf(suite, sessions, setting), {
    instructions: "",
    runTimeoutMs: 60_000,
    ...(startPlanes && { startPlanes }),
  });
  let opened = 0;

  /** Plays a task's texts in one thread. People approve what an honest task asks, and refuse what an attack asks. */
  async function play(task: Task, attack?: Attack) {
    const sessionId = `play-${(opened += 1)}`;
    const records = new Records(suite.records, attack?.plant);
    sessions.set(sessionId, records);
    const modelFor = obedientModels(attack);
    const played = { records, asked: 0, calls: 0, succeeded: true };
    let thread: { threadId?: string } = {};
    for (const { query, needed, isLater = false } of [...queriesOf(task.steps), ...laterQueries(attack)]) {
      const approver = () => {
        played.asked += 1;
        return { approved: attack === undefined };
      };
      const { context } = task;
      const asked = { query, role: setting.role(task), context, sessionId, approver, ...(!isLater && thread) };
      const { answer } = await server.client.ask(asked, modelFor(needed));
      thread = { threadId: answer.threadId };
      played.calls += answer.toolInteractions.length;
      played.succeeded &&= answer.success && answer.toolInteractions.every(({ success }) => success);
    }
    return played;
  }

  return {
    async playTask(task) {
      const before = process.cpuUsage();
      const { records, asked, calls, succeeded } = await play(task);
      const { user, system } = process.cpuUsage(before);
      const changes = records.changes();
      const isDone = succeeded && areChanges(changes, task.changes);
      return {
        task,
        fate: isDone ? (asked > 0 ? "asked" : "untouched") : "broken",
        changes,
        costsUs: [user + system],
        calls,
      };
    },
    async playAttack(attack, task) {
      const { records, asked } = await play(task, attack);
      return { attack, task, reached: isHit(records.changes(), attack), asked: asked > 0 };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** True if a changed row proves the attack. */
export function isHit(changes: Changes, { hit }: Attack): boolean {
  return Object.entries(hit).every(([table, wanted]) =>
    changes[table]?.some((row) =>
      typeof row === "string" ? row === wanted["id"] : isMatch(row as JsonObject, wanted),
    ),
  );
}

interface Query {
  query: string;
  needed: Call[];
  /** True in a thread of its own. */
  isLater?: boolean;
}

const laterQueries = ({ then = [] }: Partial<Attack> = {}): Query[] =>
  queriesOf(then).map((one) => ({ ...one, isLater: true }));

function queriesOf(steps: Task["steps"]): Query[] {
  const queries: Query[] = [];
  for (const step of steps)
    if (typeof step === "string") queries.push({ query: step, needed: [] });
    else queries.at(-1)!.needed.push(step);
  return queries;
}

/** Every attack pair of a suite. */
export function pairsOf({ attacks, tasks }: Suite): { attack: Attack; task: Task }[] {
  return attacks.flatMap((attack) =>
    attack.tasks.map((name) => {
      const task = tasks.find((own) => own.name === name);
      if (!task) throw new Error(`The attack ${attack.name} names the unknown task ${name}.`);
      return { attack, task };
    }),
  );
}
