/** The options of the command, as {@link CREATE_OPTIONS} describes them. */
export interface CreateOptions {
  /** Relative to the working folder. Default: what a person answers, otherwise `my-service`. */
  folder?: string | undefined;
  name?: string | undefined;
  yes?: boolean | undefined;
  install?: boolean | undefined;
  overwrite?: boolean | undefined;
  packages?: string | undefined;
}

/** Options of `npm create @patchbay` and of `patchbay init`, as commander writes them. */
export const CREATE_OPTIONS: readonly (readonly [flags: string, description: string])[] = [
  ["--name <name>", "name of the service (default: the name of the folder)"],
  ["--yes", "ask nothing, and take the default of each question"],
  ["--no-install", "do not install packages"],
  ["--overwrite", "write into a folder that is not empty, and replace files of the same names"],
  ["--packages <folder>", "install Patchbay from packed packages in this folder, not from the registry"],
];
