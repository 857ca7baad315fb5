import { type RawBuilder, sql } from "kysely";
import { type Json, toJson } from "../columns.ts";

/** A column that stores one member of a record. `as`: how it does. */
export interface Column<
  Name extends string = string,
  As extends "value" | "json" | "flag" = "value" | "json" | "flag",
> {
  readonly name: Name;
  readonly type: "text" | "integer" | "bigint";
  readonly as: As;
  /** A null stays in the record. */
  readonly orNull?: true;
}

const column =
  <const As extends Column["as"]>(type: Column["type"], as: As) =>
  <const Name extends string>(name: Name): Column<Name, As> => ({ name, type, as });

export const text = column("text", "value");
export const integer = column("integer", "value");
export const bigint = column("bigint", "value");
/** A text with the JSON of the member. */
export const json = column("text", "json");
/** 1 for true, 0 for false. */
export const flag = column("integer", "flag");
/** Of a member that is null where it is absent. */
export const nullable = <Name extends string>(of: Column<Name, "value">): Column<Name, "value"> => ({
  ...of,
  orNull: true,
});

/** A column for each member of a record. */
export type ColumnsOf<Members> = { readonly [Member in keyof Members]-?: Column };

/** The row of a record. Columns of optional members can be null. */
export type RowOf<Members, Columns extends ColumnsOf<Members>> = {
  [Member in keyof Members as Columns[Member]["name"]]-?:
    | (Columns[Member]["as"] extends "json"
        ? Json<NonNullable<Members[Member]>>
        : Columns[Member]["as"] extends "flag"
          ? number
          : NonNullable<Members[Member]>)
    | (undefined extends Members[Member] ? null : never)
    | (Columns[Member]["as"] extends "value" ? Extract<Members[Member], null> : never);
};

/** The columns of some members. */
type Some<Members, Columns extends ColumnsOf<Members>, Given extends keyof Members> = Pick<
  RowOf<Members, Columns>,
  Columns[Given]["name"]
>;

/** The columns of a table that store records: their names, the rows of records, and the records in rows. */
export function recordColumns<Members extends object>() {
  return <const Columns extends ColumnsOf<Members>>(columns: Columns) => {
    const members = Object.entries<Column>(columns);
    return {
      names: members.map(([, { name }]) => name) as Columns[keyof Members]["name"][],
      /** Names and types, for a record set of Postgres. */
      types: members.map(([, { name, type }]) => `${name} ${type}`).join(", "),
      rowOf(record: Members): RowOf<Members, Columns> {
        const row: Record<string, unknown> = {};
        for (const [member, { name, as }] of members) row[name] = stored(record[member as keyof Members], as);
        return row as RowOf<Members, Columns>;
      },
      /** The columns of the given members, which include those that are undefined; not of other properties. */
      someOf<const Given extends { [Member in keyof Members]?: Members[Member] | undefined }>(record: Given) {
        const row: Record<string, unknown> = {};
        for (const [member, { name, as }] of members)
          if (member in record) row[name] = stored(record[member as keyof Given], as);
        return row as Some<Members, Columns, keyof Given & keyof Members>;
      },
      /** Leaves out the members whose columns are null, except nullable ones. */
      recordOf(row: RowOf<Members, Columns>): Members {
        const record: Record<string, unknown> = {};
        for (const [member, { name, as, orNull }] of members) {
          const value = row[name as keyof typeof row] as unknown;
          if (value !== null || orNull)
            record[member] = as === "json" ? JSON.parse(value as string) : as === "flag" ? value === 1 : value;
        }
        return record as Members;
      },
    };
  };
}

function stored(value: unknown, as: Column["as"]): unknown {
  if (value === undefined) return null;
  if (as === "json") return toJson(value);
  return as === "flag" ? Number(value) : value;
}

/** Some of the columns of a record. */
export const pick = <Columns extends object, Member extends keyof Columns>(
  columns: Columns,
  members: readonly Member[],
) => Object.fromEntries(members.map((member) => [member, columns[member]])) as Pick<Columns, Member>;

/** Names as a part of a raw statement, each after `from.` if it is given. */
export const listed = (names: readonly string[], from?: string): RawBuilder<unknown> =>
  sql.raw(names.map((name) => (from === undefined ? name : `${from}.${name}`)).join(", "));
