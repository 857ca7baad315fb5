/** A browser without a display: it follows redirects, keeps cookies, and fills in the forms of the stand-in identity provider. */
export function createBrowser(provider: string) {
  const cookies = new Map<string, string>();

  async function open(url: URL, form?: URLSearchParams): Promise<Response> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const sent = form ? { method: "POST", body: form } : {};
    const response = await fetch(url, { ...sent, redirect: "manual", headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  }

  return {
    /** Signs in and agrees until the provider sends the browser elsewhere; returns that address without opening it. */
    async signIn(authorization: string | URL, user: string): Promise<URL> {
      let url = new URL(authorization);
      let form: URLSearchParams | undefined;
      const seen: string[] = [];
      while (url.origin === provider) {
        const response = await open(url, form);
        form = undefined;
        const location = response.headers.get("Location");
        const page = await response.text();
        seen.push(`${response.status} ${url.pathname}`);
        if (location !== null) {
          url = new URL(location, url);
          continue;
        }
        const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? [];
        const [, prompt] = /name="prompt" value="(\w+)"/.exec(page) ?? [];
        if (action === undefined || prompt === undefined || seen.length > 20)
          throw new Error(`No form to fill in after ${seen.join(", ")}: ${page.slice(0, 2_000)}`);
        url = new URL(action, url);
        form = new URLSearchParams({ prompt, login: user, password: "any" });
      }
      return url;
    },
  };
}
