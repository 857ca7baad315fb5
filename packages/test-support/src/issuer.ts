import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, type JWTPayload, SignJWT } from "jose";

const AUDIENCE = "patchbay";

/** An answer in place of the issuer's: a status, a text, or what a function does with the path that was asked for. */
type Fault = { status: number } | { body: string } | ((path: string, response: ServerResponse) => void);

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

/** An identity provider on this machine. It counts the requests for its keys. */
export async function startIssuer() {
  let keyRequests = 0;
  const published: JWK[] = [];
  const pairs = new Map<string, { pair: KeyPair; alg: string }>();
  /** What the server does in place of an answer. */
  let fault: Fault | undefined;
  let beforeKeys = (): void => {};

  const server = createServer((request, response) => {
    const ofKeys = request.url === "/keys";
    if (ofKeys) {
      keyRequests++;
      beforeKeys();
    }
    const answer = ofKeys ? { keys: published } : { issuer: url, jwks_uri: `${url}/keys` };
    if (typeof fault === "function") return fault(request.url!, response);
    if (fault && "status" in fault) return response.writeHead(fault.status).end();
    return response.end(fault ? fault.body : JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function addKey(kid: string, alg = "ES256"): Promise<JWK> {
    const pair = await generateKeyPair(alg, { extractable: true });
    const jwk = { ...(await exportJWK(pair.publicKey)), kid, alg, use: "sig" };
    pairs.set(kid, { pair, alg });
    published.push(jwk);
    return jwk;
  }
  await addKey("first");

  /** Claims of a valid token that expires in five minutes. */
  const claims = (more: JWTPayload = {}): JWTPayload => ({
    iss: url,
    aud: AUDIENCE,
    sub: "ada",
    exp: Math.floor(Date.now() / 1_000) + 300,
    ...more,
  });

  return {
    url,
    audience: AUDIENCE,
    addKey,
    /** Adds a key that the caller made. */
    publish: (jwk: JWK) => void published.push(jwk),
    /** Removes a key from the published ones. Tokens can still be signed with it. */
    withdraw: (kid: string) =>
      void published.splice(
        published.findIndex((key) => key.kid === kid),
        1,
      ),
    keyRequests: () => keyRequests,
    /** What happens between a request for the keys and its answer. */
    beforeKeys: (next: typeof beforeKeys) => void (beforeKeys = next),
    fail: (next: typeof fault) => void (fault = next),
    claims,
    async token(
      more: JWTPayload = {},
      { kid = "first", ...header }: { kid?: string; typ?: string } = {},
    ): Promise<string> {
      const { pair, alg } = pairs.get(kid)!;
      return await new SignJWT(claims(more)).setProtectedHeader({ alg, kid, ...header }).sign(pair.privateKey);
    },
    /** A token with any header, signed with any key. */
    forge: (header: JWTHeaderParameters, claims: JWTPayload, key: Parameters<SignJWT["sign"]>[0]) =>
      new SignJWT(claims).setProtectedHeader(header).sign(key),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
