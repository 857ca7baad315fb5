/** Asks this example's server. Throws an error with the server's words. */
export async function askServer<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(path, {
    method,
    ...(body !== undefined && { headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(readError(await response.text()));
  return (await response.json()) as T;
}

/** The words of an error body. `useChat` reports the whole body as the message of its error. */
export function readError(text: string): string {
  try {
    const { errorMessage } = JSON.parse(text) as { errorMessage?: string };
    return errorMessage ?? text;
  } catch {
    return text;
  }
}
