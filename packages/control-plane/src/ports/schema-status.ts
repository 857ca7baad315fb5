/** The migrations of a database and of this version. */
export interface SchemaStatus {
  /** Path or address of the database, without a password. */
  database: string;
  /** What the database has run, in order. */
  applied: string[];
  /** What this version would run. */
  pending: string[];
  /** What a newer version has run. This version then refuses the database. */
  unknown: string[];
}
