import type { Manifest } from "@patchbay/protocol";
import type { JudgedCall } from "@patchbay/functions/access";
import type { Service } from "@patchbay/functions";
import { CommandFailure } from "@patchbay/loading/failure";
import type { AccessOptions } from "./options.ts";

/** Asks the service at `--url` with the service token. Undefined for the status `unless`. */
export async function askRemote(
  { url, serviceToken }: AccessOptions,
  path: string,
  unless?: number,
): Promise<Response | undefined> {
  if (serviceToken === undefined)
    throw new CommandFailure("--url needs a --service-token, unless --database is given.");
  const address = `${url}/api/${path}`;
  const response = await fetch(address, { headers: { Authorization: `Bearer ${serviceToken}` } });
  if (response.status === unless) return undefined;
  if (!response.ok) throw new CommandFailure(`${address} answered ${response.status}: ${await response.text()}`);
  return response;
}

/**
 * An agent's ended calls from the service at `--url`, newest first. If the file is connected there as a candidate, each
 * call has the candidate's judgement, and the calls' arguments and contexts stay there.
 */
export async function remoteCalls(
  { manifest }: Service,
  options: AccessOptions,
  agent: string,
): Promise<AsyncIterable<JudgedCall>> {
  const { hashManifest } = await import("@patchbay/control-plane/admin");
  const path = `agents/${encodeURIComponent(agent)}/calls`;
  const judged =
    options.base === undefined
      ? await askRemote(options, `${path}?candidate=${hashManifest(manifest)}`, 409)
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
        "The service token lacks the scope calls:content, and this file is not connected there with `patchbay connect FILE --shadow`.",
      );
    if (call.manifest) manifests.set(call.manifestHash, call.manifest);
    yield { ...call, manifest: manifests.get(call.manifestHash) };
    if (--left === 0) return;
  }
}

/** The lines of an NDJSON response. */
export async function* linesOf({ body }: Response): AsyncGenerator<string> {
  let rest = "";
  for await (const text of body!.pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}
