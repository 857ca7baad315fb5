/** The command options that {@link CREATE_OPTIONS} describes. */
export interface CreateOptions {
  /** Relative to the working folder. Default: what a person answers, otherwise `my-service`. */
  folder?: string | undefined;
  name?: string | undefined;
  yes?: boolean | undefined;
  install?: boolean | undefined;
  overwrite?: boolean | undefined;
  packages?: string | undefined;
}

/** Options for `npm create @patchbay` and `patchbay init`, in commander's syntax. */
export const CREATE_OPTIONS: readonly (readonly [flags: string, description: string])[] = [
  ["--name <name>", "service name (default: the folder's name)"],
  ["--yes", "ask nothing, and use each question's default"],
  ["--no-install", "do not install packages"],
  ["--overwrite", "write into a folder that is not empty, and replace files with the same names"],
  ["--packages <folder>", "install Patchbay from packed packages in this folder, not from the registry"],
];
