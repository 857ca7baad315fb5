import { parseNatsAddresses } from "./nats-address.ts";
import { dial } from "./nats-dial.ts";

/** True when one of the NATS servers of `urls` lets this process in; each is tried once, for seconds at most. */
export async function reachesNats(urls: string): Promise<boolean> {
  for (const address of parseNatsAddresses(urls)) {
    const connection = await dial(address).catch(() => undefined);
    await connection?.close();
    if (connection) return true;
  }
  return false;
}
