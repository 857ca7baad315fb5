import type { AskedEvidence, EvidencePart } from "@patchbay/control-plane/admin";
import { present } from "@patchbay/kit";
import { withAdmin } from "../administer.ts";
import type { Manifest } from "@patchbay/protocol";
import type { JudgedCall } from "@patchbay/functions/access";
import type { Service } from "@patchbay/functions";
import { CommandFailure } from "@patchbay/loading/failure";
import type { AccessOptions } from "./options.ts";

/** Asks the service at `--url` with the service token. Undefined for the status `unless`. */
async function askRemote(
  { url, serviceToken }: AccessOptions,
  path: string,
  { unless, body }: { unless?: number; body?: object } = {},
): Promise<Response | undefined> {
  if (serviceToken === undefined)
    throw new CommandFailure("--url needs a --service-token, unless --database is given.");
  const address = `${url}/api/${path}`;
  const headers = { Authorization: `Bearer ${serviceToken}`, "Content-Type": "application/json" };
  const response = await fetch(address, { headers, ...(body && { method: "POST", body: JSON.stringify(body) }) });
  if (response.status === unless) return undefined;
  if (!response.ok) throw new CommandFailure(`${address} answered ${response.status}: ${await response.text()}`);
  return response;
}

/**
 * An agent's ended calls from the service at `--url`, newest first. If the file is connected there as a candidate, each
 * call has the candidate's judgement, and the calls' arguments and contexts stay there.
 */
async function remoteCalls(
  { manifest }: Service,
  options: AccessOptions,
  agent: string,
): Promise<AsyncIterable<JudgedCall>> {
  const { hashManifest } = await import("@patchbay/control-plane/admin");
  const path = `agents/${encodeURIComponent(agent)}/calls`;
  const judged =
    options.base === undefined && options.fromRuns === undefined
      ? await askRemote(options, `${path}?candidate=${hashManifest(manifest)}`, { unless: 409 })
      : undefined;
  return callsOf(judged ?? (await askRemote(options, path))!, options);
}

async function* callsOf(response: Response, { last }: AccessOptions): AsyncGenerator<JudgedCall> {
  const manifests = new Map<string | undefined, Manifest>();
  let left = last;
  for await (const line of linesOf(response)) {
    const call = JSON.parse(line) as JudgedCall;
    if (!call.judgement && !Object.hasOwn(call, "context"))
      throw new CommandFailure(
        "The service token lacks the scope calls:content. What-if needs none if this file is connected there with `patchbay connect FILE --shadow`.",
      );
    if (call.manifest) manifests.set(call.manifestHash, call.manifest);
    yield { ...call, manifest: manifests.get(call.manifestHash) };
    if (--left === 0) return;
  }
}

/** An agent's evidence from the service at `--url`, else from the database. */
export async function withEvidence<T>(
  { manifest }: Service,
  options: AccessOptions,
  { agent, ...asked }: Omit<AskedEvidence, "manifest"> & { agent: string },
  work: (parts: AsyncIterable<EvidencePart>) => Promise<T>,
): Promise<T> {
  if (!isRemote(options))
    return await withAdmin(options, (admin) => work(admin.evidence(agent, { manifest, ...asked })));
  const functions = manifest.functions.map(({ name, roles }) => ({ name, roles }));
  const { roles, defaultRole } = manifest;
  const body = { functions, ...asked, ...present({ roles, defaultRole }) };
  return await work(
    partsOf((await askRemote(options, `agents/${encodeURIComponent(agent)}/access/evidence`, { body }))!),
  );
}

/** `--database` may come from the environment, next to `--url`. */
export const isRemote = ({ url, database }: AccessOptions): boolean => url !== undefined && database === undefined;

async function* partsOf(response: Response): AsyncGenerator<EvidencePart> {
  for await (const line of linesOf(response)) yield JSON.parse(line) as EvidencePart;
}

/** An agent's ended calls from the service at `--url`, else from the database, newest first. `flows`: sets whose data-flow rules are replayed. */
export async function withCalls<T>(
  service: Service,
  options: AccessOptions,
  agent: string,
  work: (calls: AsyncIterable<JudgedCall>) => Promise<T>,
  { flows }: { flows?: readonly Manifest[] } = {},
): Promise<T> {
  if (isRemote(options)) return await work(await remoteCalls(service, options, agent));
  return await withAdmin(options, (admin) =>
    work(admin.storedCalls(agent, { last: options.last, ...present({ flows }) })),
  );
}

/** The lines of an NDJSON response. */
async function* linesOf({ body }: Response): AsyncGenerator<string> {
  let rest = "";
  for await (const text of body!.pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}
