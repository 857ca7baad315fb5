import type { CallerIssuer } from "@patchbay/control-plane";
import { present } from "@patchbay/kit";
import { CommandFailure } from "@patchbay/loading/failure";
import type { Command } from "commander";
import { option, type OptionsOf, parseList, seconds } from "./options.ts";

export const callerOptions = () => [
  option(
    "--caller-issuer <url>",
    "identity provider whose JWTs in X-Patchbay-Caller prove callers: the `iss` of its tokens, at which its openid-configuration is (default: none)",
  ),
  option("--caller-audience <audience>", "these tokens' `aud` (default: the agent's address, with --public-url)"),
  option(
    "--caller-role-claim <claim>",
    "claim with the caller's role or roles: a name, or a JSON Pointer such as /realm_access/roles (default: queries state their role)",
  ),
  option(
    "--caller-role-map <pairs>",
    "roles for values of that claim, such as the ids of groups: VALUE=ROLE, comma-separated (default: the values are roles)",
    { parse: parseList },
  ),
  option(
    "--caller-context-claims <claims>",
    "claims that become context members, CLAIM or CLAIM=MEMBER, comma-separated (default: none)",
    { parse: parseList },
  ),
  option("--caller-jwks-url <url>", "address of the issuer's keys (default: from its openid-configuration)"),
  option("--caller-scope <scope>", "scope that tokens of callers without a key need (default: none)"),
  option(
    "--caller-max-age <seconds>",
    "seconds from now until which a token may be valid, 60 to 604800; a longer one is refused (default: 86400)",
    { parse: seconds(60, 604_800, 86_400).parse },
  ),
  option(
    "--caller-keys-max-age <seconds>",
    "seconds for which the issuer's keys are used without reading them again, 1 to 86400; above 600 only while the issuer is unreachable (default: 3600)",
    { parse: seconds(1, 86_400, 3_600).parse },
  ),
  option("--caller-id-tokens", "accept ID tokens too, which tell a client who signed in"),
];
/** The identity provider from the `--caller-...` options; undefined without them. Exits with 2 when they are incomplete. */
export function callersOf(
  { publicUrl, ...options }: OptionsOf<typeof callerOptions> & { publicUrl?: string },
  command: Command,
): CallerIssuer | undefined {
  const { callerIssuer: issuer, callerAudience: audience, callerRoleClaim: roleClaim, ...more } = options;
  const { callerContextClaims: contextClaims, callerJwksUrl: jwksUrl, callerScope: scope } = more;
  const { callerMaxAge: maxAgeSeconds, callerKeysMaxAge: keysMaxAgeSeconds, callerIdTokens: allowIdTokens } = more;
  const roleMap = more.callerRoleMap && Object.fromEntries(more.callerRoleMap.map(pairIn));
  const ofTokens = { scope, maxAgeSeconds, keysMaxAgeSeconds, allowIdTokens };
  const given = present({ audience, roleClaim, roleMap, contextClaims, jwksUrl, ...ofTokens });
  if (issuer === undefined && Object.keys(given).length === 0) return undefined;
  if (issuer === undefined) command.error("error: the other --caller-... options need --caller-issuer");
  if (audience === undefined && publicUrl === undefined)
    command.error(
      "error: --caller-issuer needs --caller-audience or --public-url: a token that the issuer made for another service must not be accepted",
    );
  return { issuer, ...given };
}

function pairIn(text: string): [value: string, role: string] {
  const [, value, role] = /^(.+)=([^=]+)$/.exec(text) ?? [];
  if (value === undefined || role === undefined)
    throw new CommandFailure(`--caller-role-map ${text} cannot be used: expected VALUE=ROLE.`);
  return [value, role];
}
