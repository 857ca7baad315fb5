/** Whose data a query is about, by the services that name a subject. Services that name none do not change it. */
export function writeSubject(named: readonly (readonly [service: string, subject: string])[]): string | undefined {
  return named.length === 0 ? undefined : JSON.stringify(named);
}

/** What a run about the same subject may have stored: before services were written with it, that of a single one was stored as it was. */
export function formsOf(subject: string): string[] {
  const before = singleSubject(subject);
  return before === undefined || before.startsWith("[[") ? [subject] : [subject, before];
}

function singleSubject(written: string): string | undefined {
  try {
    const named: unknown = JSON.parse(written);
    if (!Array.isArray(named) || named.length !== 1 || !Array.isArray(named[0])) return undefined;
    const [, subject]: unknown[] = named[0];
    return typeof subject === "string" ? subject : undefined;
  } catch {
    return undefined;
  }
}
