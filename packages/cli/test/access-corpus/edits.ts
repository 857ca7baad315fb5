/** One change of a service that a pull request could have. */
export interface Edit {
  name: string;
  /** File without its ending, a text that it has once, and what replaces the text. */
  changes: [file: string, from: string, to: string][];
}

/** An edit of the file `service.ts`. */
export const inService = (name: string, from: string, to: string): Edit => ({ name, changes: [["service", from, to]] });
export const inFile = (file: string, name: string, from: string, to: string): Edit => ({
  name,
  changes: [[file, from, to]],
});
