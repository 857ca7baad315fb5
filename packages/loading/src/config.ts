/** The environment that this process was started with, for a process that reads `.env` itself, and again after a change. */
export const startEnvironment: Record<string, string | undefined> = { ...process.env };
