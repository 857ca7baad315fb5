import type { StartedControlPlane } from "@patchbay/control-plane/admin";

type Ask = (
  path: string,
  init?: { method?: string; body?: object; headers?: Record<string, string> },
) => Promise<Response>;

/** Signs in as the first member of an organisation of a local service. Returns requests to the console's API. */
export async function signIn({ url, admin }: Pick<StartedControlPlane, "url" | "admin">, orgId: string): Promise<Ask> {
  const ask =
    (own: Record<string, string>): Ask =>
    (path, { method = "GET", body, headers } = {}) =>
      fetch(`${url}/api${path}`, {
        method,
        headers: {
          "content-type": "application/json",
          "sec-fetch-site": "same-origin",
          origin: url,
          ...own,
          ...headers,
        },
        ...(body && { body: JSON.stringify(body) }),
      });
  const { path } = await admin.members.signInLink(orgId);
  const opened = await ask({})("/links/open", { method: "POST", body: { link: path.split("#")[1] } });
  if (!opened.ok) throw new Error(`${opened.status} ${await opened.text()}`);
  const cookies = opened.headers.getSetCookie().map((set) => set.split(";")[0]);
  return ask({ cookie: cookies.join("; ") });
}
