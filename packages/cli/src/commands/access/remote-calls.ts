import type { Manifest, StoredCall } from "@patchbay/protocol";
import { CommandFailure } from "@patchbay/loading/failure";
import type { AccessOptions } from "./options.ts";

/** An agent's ended calls from the service at `url`, newest first. */
export async function* remoteCalls({ url, serviceToken, last }: AccessOptions, agent: string) {
  if (serviceToken === undefined)
    throw new CommandFailure("--url needs a --service-token, unless --database is given.");
  const address = `${url}/api/agents/${encodeURIComponent(agent)}/calls`;
  const response = await fetch(address, { headers: { Authorization: `Bearer ${serviceToken}` } });
  if (!response.ok) throw new CommandFailure(`${address} answered ${response.status}: ${await response.text()}`);
  const manifests = new Map<string | undefined, Manifest>();
  let [left, rest] = [last, ""];
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${text}`.split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const call = JSON.parse(line) as StoredCall & { manifest?: Manifest };
      if (!("context" in call)) throw new CommandFailure("The service token lacks the scope calls:content.");
      if (call.manifest) manifests.set(call.manifestHash, call.manifest);
      yield { ...call, manifest: manifests.get(call.manifestHash) };
      if (--left === 0) return;
    }
  }
}
