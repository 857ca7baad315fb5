import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeJwt, exportJWK, generateKeyPair, jwtVerify, SignJWT } from "jose";
import { errors, type KoaContextWithOIDC, Provider } from "oidc-provider";
import { createBrowser } from "./scripted-browser.ts";

export const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_JAG = "oauth-id-jag+jwt";
const ALG = "RS256";
const HOUR = 3_600;

/** A client that the operator registered, with a secret. */
export const STAFF_APP = { id: "staff-app", secret: "secret-of-the-staff-app", redirect: "https://staff.example/back" };

/**
 * An identity provider that speaks OAuth 2.1 and OpenID Connect with real clients: authorization codes with PKCE, dynamic
 * registration, resource indicators, access tokens by RFC 9068, and the two grants of enterprise-managed authorization.
 * `roles` names the roles of each person, which access tokens claim.
 */
export async function startIdentityProvider({ roles, scope }: { roles: Record<string, string[]>; scope: string }) {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const keys = await generateKeyPair(ALG, { extractable: true });

  const resourceServer = (audience: string) =>
    ({ scope, audience, accessTokenFormat: "jwt", accessTokenTTL: HOUR, jwt: { sign: { alg: ALG } } }) as const;
  const provider = new Provider(url, {
    jwks: { keys: [{ ...(await exportJWK(keys.privateKey)), kid: "idp", alg: ALG, use: "sig" }] },
    cookies: { keys: ["stand-in"] },
    scopes: ["openid", "offline_access", scope],
    clients: [
      {
        client_id: STAFF_APP.id,
        client_secret: STAFF_APP.secret,
        redirect_uris: [STAFF_APP.redirect],
        grant_types: ["authorization_code", EXCHANGE, JWT_BEARER],
      },
    ],
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, indicator) => resourceServer(indicator),
      },
    },
    pkce: { required: () => true },
    ttl: { AccessToken: HOUR, Grant: HOUR, IdToken: HOUR, Interaction: HOUR, RefreshToken: HOUR, Session: HOUR },
    findAccount: (_ctx, id) => (id in roles ? { accountId: id, claims: () => ({ sub: id }) } : undefined),
    extraTokenClaims: (_ctx, token) => ("accountId" in token ? { role: roles[token.accountId] } : undefined),
  });

  /** RFC 8693: an ID token of the client becomes an assertion about its user for the server of the resource (ID-JAG). */
  provider.registerGrantType(
    EXCHANGE,
    async (ctx) => {
      const { subject_token = "", audience = "", resource } = paramsOf(ctx);
      await provider.IdToken.validate(subject_token, ctx.oidc.client);
      const assertion = new SignJWT({ client_id: ctx.oidc.client.clientId, resource, scope })
        .setProtectedHeader({ alg: ALG, kid: "idp", typ: ID_JAG })
        .setIssuer(url)
        .setAudience(audience)
        .setSubject(decodeJwt(subject_token).sub!)
        .setJti(crypto.randomUUID())
        .setExpirationTime("5m");
      ctx.body = {
        issued_token_type: "urn:ietf:params:oauth:token-type:id-jag",
        access_token: await assertion.sign(keys.privateKey),
        token_type: "N_A",
        expires_in: 300,
      };
    },
    ["requested_token_type", "audience", "resource", "subject_token", "subject_token_type", "scope"],
  );

  /** RFC 7523: such an assertion becomes an access token for its resource. */
  provider.registerGrantType(
    JWT_BEARER,
    async (ctx) => {
      const client = ctx.oidc.client;
      const { assertion = "" } = paramsOf(ctx);
      const { payload } = await jwtVerify(assertion, keys.publicKey, { issuer: url, audience: url, typ: ID_JAG });
      if (payload["client_id"] !== client.clientId)
        throw new errors.InvalidGrant("the assertion is for another client");
      const token = new provider.AccessToken({ client, accountId: payload.sub!, scope, gty: JWT_BEARER } as never);
      const resource = String(payload["resource"]);
      token.resourceServer = new provider.ResourceServer(resource, resourceServer(resource));
      ctx.body = { access_token: await token.save(), token_type: "Bearer", expires_in: HOUR, scope };
    },
    ["assertion", "scope", "resource"],
  );
  server.on("request", provider.callback());

  return {
    url,
    /** Signs a person in where an authorization request leads, agrees, and returns the address that the browser is sent back to. */
    signIn: (authorization: string | URL, user: string) => createBrowser(url).signIn(authorization, user),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

const paramsOf = ({ oidc }: KoaContextWithOIDC) => oidc.params as Record<string, string>;
