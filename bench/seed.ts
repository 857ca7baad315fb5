/** A table of the database, with its columns. */
export interface Table {
  name: string;
  columns: readonly { name: string; type: string }[];
}

export interface Seed {
  /** Number of runs that are stored afterwards, in addition to those in the database. */
  runs: number;
  /** Number of runs whose rows keep their size. The long texts of older runs are shortened. */
  newest: number;
}

/** Runs that are copied. */
export const SAMPLE = 20;
/** Time between two copies. 200,000 runs cover 20 days, less than any retention. */
const APART_MS = 8_640;
const LONG = 40;

/**
 * Statements, for SQLite and Postgres, that copy the newest runs with all their rows until `runs` copies exist. The tables of a run
 * are those with its id or that of its thread, so new tables are copied too. Copies are older than the runs that they copy.
 */
export function seedStatements(tables: readonly Table[], { runs, newest }: Seed): string[] {
  const copies = runs / SAMPLE;
  const has = (table: string): boolean => tables.some(({ name }) => name === table);
  return [
    ...(has("feedback") ? [FEEDBACK] : []),
    `create temp table sampled as
      select id, thread_id from runs where finished_at is not null order by created_at desc limit ${SAMPLE}`,
    // Ids of one length, in the order of time.
    `create temp table copies as
      with recursive counted (n) as (select 1 union all select n + 1 from counted where n < ${copies})
      select n, '_' || (${10_000_000 + copies} - n) as suffix from counted`,
    ...inOrder(tables).map((table) => copyRows(table, newest / SAMPLE)),
    ...(has("run_texts") ? [COPY_WORDS] : []),
    "drop table copies",
    "drop table sampled",
  ];
}

/** The tag of one of 20 runs. */
export const TAG = "late";

/** One of the copied runs, and so one of 20, has feedback. */
const FEEDBACK = `
  insert into feedback (run_id, key_id, org_id, score, tags, created_at)
    select id, key_id, org_id, -1, '["${TAG}"]', created_at from runs
    where finished_at is not null order by created_at desc limit 1`;

/** The words of a run have the number of its facts, which the database gave to the copy. */
const COPY_WORDS = `
  insert into run_texts (id, org_id, words)
    select copied.id, stored.org_id, stored.words from sampled cross join copies
    join run_facts original on original.run_id = sampled.id
    join run_texts stored on stored.id = original.id
    join run_facts copied on copied.run_id = sampled.id || copies.suffix`;

/** Lists of the console show them. */
const SHOWN = ["request", "ending"];

/** Rows after those that they refer to. */
function inOrder(tables: readonly Table[]): Table[] {
  const first = ["threads", "runs"];
  const rest = tables.filter(({ name, columns }) => !first.includes(name) && columns.some(isOfRun));
  return [...first.map((name) => tables.find((table) => table.name === name)!), ...rest];
}

const isOfRun = ({ name }: { name: string }): boolean => name === "run_id" || name === "thread_id";

const isText = ({ type }: { type: string }): boolean => type.toLowerCase() === "text";

function copyRows({ name, columns: all }: Table, newest: number): string {
  // The database numbers its rows itself.
  const columns = all.filter((column) => column.name !== "id" || isText(column));
  const values = columns.map((column) => {
    const source = `stored.${column.name}`;
    if (/^(?:id|(?:run|thread|call)_id)$/.test(column.name)) return `${source} || copies.suffix`;
    if (column.name.endsWith("_at")) return `${source} - copies.n * ${SAMPLE * APART_MS}`;
    if (!isText(column) || column.name.endsWith("_id") || SHOWN.includes(column.name)) return source;
    return `case when copies.n > ${newest} and length(${source}) > ${LONG} then '{}' else ${source} end`;
  });
  const on = (column: string): string => {
    if (name === "runs") return "stored.id = sampled.id";
    if (name === "threads") return "stored.id = sampled.thread_id";
    return column === "run_id" ? "stored.run_id = sampled.id" : "stored.thread_id = sampled.thread_id";
  };
  const key = columns.some((column) => column.name === "run_id") ? "run_id" : "thread_id";
  return `insert into ${name} (${columns.map((column) => column.name).join(", ")})
    select ${values.join(", ")} from sampled cross join copies join ${name} stored on ${on(key)}`;
}
