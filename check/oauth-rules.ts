import type { Promised } from "../test/faults/promises/promise.ts";

const RESOURCE = "test/contract/oauth-resource.test.ts";
const KEYLESS = "test/contract/keyless.test.ts";
const SIGN_IN = "test/system/sign-in.test.ts";
const PROGRAMS = "test/system/sign-in-programs.test.ts";
const RULES = "packages/server/test/accounts/token-rules.test.ts";

const without = "a request without a token gets a challenge without an error code";
const invalid = "%s token is answered with 401 and invalid_token";
const lacking = "a token without the scope is answered with 403 and the scope";
const parameter = "a challenge has at least one parameter";
const scope = "the scope %j is refused at the start";

/**
 * What RFC 6750, RFC 8707 and RFC 9728 demand from a resource server, and from what it publishes, with the tests. They
 * hold for agents whose callers need no key. Left out are rules for clients and authorization servers, TLS, which is up
 * to the operator's proxy, and optional members that are not used: signed metadata, texts in several languages, DPoP.
 */
export const OAUTH_RULES: readonly Promised[] = [
  {
    promise: "RFC 6750, 2.1: the server MUST accept the token in the header Authorization.",
    tests: { [RESOURCE]: "the token is accepted after the scheme %s" },
  },
  {
    promise: "RFC 6750, 2.2 and 2.3: a form and the query are further places for a token, which it need not read.",
    tests: { [RESOURCE]: "a token in the query, in the body or in another header is not read" },
  },
  {
    promise: "RFC 6750, 3: an answer to a request without a sufficient token MUST have WWW-Authenticate.",
    tests: { [RESOURCE]: [without, invalid, lacking] },
  },
  {
    promise: "RFC 6750, 3: the challenge MUST use the scheme Bearer, with at least one parameter.",
    tests: { [RESOURCE]: [without, parameter] },
  },
  {
    promise: "RFC 6750, 3: the scope MUST NOT contain quotes, backslashes and other than printable ASCII characters.",
    tests: { [RESOURCE]: scope },
  },
  {
    promise: "RFC 6750, 3: realm, scope and error MUST NOT appear twice.",
    tests: {
      [RESOURCE]: [without, parameter],
      [KEYLESS]: "the MCP endpoint says where tokens come from, and other routes do not",
    },
  },
  {
    promise: "RFC 6750, 3.1: a request without a token SHOULD NOT get an error code.",
    tests: { [RESOURCE]: without },
  },
  {
    promise: "RFC 6750, 3.1: an expired, revoked or malformed token SHOULD be answered with 401 and invalid_token.",
    tests: { [RESOURCE]: invalid, "test/contract/token-attacks.test.ts": "a token with %s is refused" },
  },
  {
    promise: "RFC 6750, 3.1: insufficient_scope SHOULD be 403, and MAY name the scope that is needed.",
    tests: {
      [RESOURCE]: lacking,
      [KEYLESS]: "a token without the scope is answered with 403, which is audited, on every adapter",
    },
  },
  {
    promise: "RFC 8707, 2: the resource MUST be an absolute URI without a fragment.",
    tests: { [RESOURCE]: "the resource in the metadata is the address that the client requested" },
  },
  {
    promise: "RFC 8707, 2.2: a token is limited to its resources, so a server must refuse tokens for others.",
    tests: {
      [RESOURCE]: "a token for another resource is refused, and one for several is accepted",
      [RULES]: "%s, with a key and without: %j where one is set, else %j",
      [SIGN_IN]: "a token for the MCP endpoint of one agent does not open another",
    },
  },
  {
    promise: "RFC 9728, 2: resource is required, and members without elements MUST be left out.",
    tests: {
      [RESOURCE]: [
        "the metadata is JSON at the well-known path before the path of the endpoint",
        "members of the metadata without a value are left out",
      ],
    },
  },
  {
    promise:
      "RFC 9728, 3: the metadata MUST be at the well-known path that is inserted before the path of the resource.",
    tests: { [RESOURCE]: "the metadata is JSON at the well-known path before the path of the endpoint" },
  },
  {
    promise: "RFC 9728, 3.2: the answer MUST be 200 with a JSON object as application/json.",
    tests: { [RESOURCE]: "the metadata is JSON at the well-known path before the path of the endpoint" },
  },
  {
    promise:
      "RFC 9728, 3.3: the resource MUST be the address that the client requested, else clients refuse the metadata.",
    tests: {
      [RESOURCE]: "the resource in the metadata is the address that the client requested",
      [SIGN_IN]: "the OAuth client of %s signs in and calls the functions of its role",
      [PROGRAMS]: [
        "mcp-remote signs in and passes on the calls of its user",
        "the command line of the MCP Inspector signs in and calls a function of the role",
      ],
    },
  },
  {
    promise: "RFC 9728, 5.1: resource_metadata in the challenge is the address of the metadata.",
    tests: { [RESOURCE]: [without, "the resource in the metadata is the address that the client requested"] },
  },
  {
    promise: "RFC 9728, 7.10: the metadata SHOULD say for how long it may be cached.",
    tests: { [RESOURCE]: "the metadata may be cached for minutes, and its absence may not" },
  },
  {
    promise: "MCP, authorization: a browser finds the metadata, the challenge and the answer.",
    tests: { [RESOURCE]: "a page of any origin finds the issuer and calls with the token of its user" },
  },
];
