const NAME = "patchbay.back";
/** As long as a sign-in link from `patchbay dev` works. */
const LIFE_MS = 600_000;

/**
 * Stores the page that a member asked for before signing in, because a sign-in link may open in another tab. Undefined removes
 * it.
 */
export function rememberBack(back: string | undefined): void {
  try {
    if (back === undefined) localStorage.removeItem(NAME);
    else localStorage.setItem(NAME, JSON.stringify({ back, at: Date.now() }));
  } catch {
    // Storage is forbidden or full: signing in then leads to the agent list.
  }
}

/** The stored page. */
export function rememberedBack(): string | undefined {
  try {
    const { back, at } = JSON.parse(localStorage.getItem(NAME) ?? "{}") as { back?: unknown; at?: unknown };
    const isFresh = typeof at === "number" && Math.abs(Date.now() - at) < LIFE_MS;
    return typeof back === "string" && isFresh ? back : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Where signing in leads. Accepts only console paths: an attacker may have written the URL, and must not send members
 * to another site.
 */
export const pageAfterSignIn = (back: string | undefined): string =>
  back !== undefined && /^\/(?![/\\])/.test(back) ? back : "/agents";
