const TOKENS = /^[^\s.*>]+(\.[^\s.*>]+)*$/;

/** Throws TypeError for a subject that a bus cannot carry: its tokens come from ids and hashes, so that is a bug of whoever made it. */
export function checkSubject(subject: string): void {
  if (TOKENS.test(subject)) return;
  throw new TypeError(
    `${JSON.stringify(subject)} is no bus subject: tokens are joined by dots, none is empty or holds a space, "*" or ">"; put a hash where text is free`,
  );
}
