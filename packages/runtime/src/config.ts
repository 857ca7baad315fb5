/** The variables that name a proxy, and the hosts to connect to without it. Empty ones count as unset. */
export interface ProxyVariables {
  https?: string;
  http?: string;
  all?: string;
  no?: string;
}

/** Reads the proxy variables from this process. As in curl, a variable's lower-case name comes first. */
export function readProxyVariables(env: Record<string, string | undefined> = process.env): ProxyVariables {
  const read = (name: string) => env[name.toLowerCase()]?.trim() || env[name]?.trim() || undefined;
  const entries = Object.entries({
    https: read("HTTPS_PROXY"),
    http: read("HTTP_PROXY"),
    all: read("ALL_PROXY"),
    no: read("NO_PROXY"),
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
