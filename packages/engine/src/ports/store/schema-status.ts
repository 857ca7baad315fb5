/** A database's migrations compared with this version's. */
export interface SchemaStatus {
  /** The database's path or address, without a password. */
  database: string;
  /** What the database has run, in order. */
  applied: string[];
  /** What this version would run. */
  pending: string[];
  /** What a newer version has run. This version then refuses the database. */
  unknown: string[];
}
