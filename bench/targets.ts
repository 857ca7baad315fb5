import { join } from "node:path";
import { hasNatsServer, ownNats } from "@patchbay/test-support/nats";
import { aiSdk } from "./ai-sdk.ts";
import type { Installation } from "./build.ts";
import { floor } from "./floor.ts";
import { langgraph } from "./langgraph.ts";
import { patchbay, type Deployed } from "./patchbay.ts";
import { startPostgres, type Postgres } from "./postgres.ts";
import { embedded, onPostgres } from "./storage.ts";
import { ON_POSTGRES, type Letter, type Target } from "./system.ts";

interface Making {
  installation: Installation;
  /** The built module of the owner's service. */
  service: string;
  folder: string;
  floorScript: (name: string) => string;
  /** Stops what the targets share. */
  cleanup: AsyncDisposableStack;
  note(text: string): void;
}

/** The systems of these letters, without those whose server cannot be started here. */
export async function createTargets(letters: readonly Letter[], making: Making): Promise<Target[]> {
  const { cleanup, note } = making;
  const onPostgres = letters.filter((letter) => ON_POSTGRES.includes(letter));
  let postgres: Postgres | undefined;
  try {
    if (onPostgres.length > 0) postgres = cleanup.use(await startPostgres());
  } catch (error) {
    note(
      `!!! POSTGRES IS NOT MEASURED (${onPostgres.join(", ")}): ${String(error)}. Install Postgres or run pnpm install. !!!`,
    );
  }
  const hasNats = hasNatsServer();
  if (postgres && letters.includes("N") && !hasNats)
    note("!!! TWO REPLICAS ARE NOT MEASURED (N): nats-server is not on the path. Install it. !!!");
  const possible = letters.filter(
    (letter) => (postgres || !ON_POSTGRES.includes(letter)) && (letter !== "N" || hasNats),
  );
  const makers = makersOf(making, () => postgres!);
  return Promise.all(possible.map((letter) => makers[letter]()));
}

function makersOf(
  { installation, service, folder, floorScript, cleanup }: Making,
  postgres: () => Postgres,
): Record<"A" | "P" | "N", () => Promise<Deployed>> & Record<Letter, () => Promise<Target>> {
  const place = (letter: Letter): string => join(folder, letter);
  const deploy = (deployment: Parameters<typeof patchbay>[3]) =>
    patchbay(installation, service, place(deployment.letter), deployment);
  return {
    A: () => deploy({ letter: "A", name: "Patchbay", storage: embedded(place("A")) }),
    B: async () => floor(floorScript, folder),
    C: async () => aiSdk(),
    async P() {
      const storage = await onPostgres(postgres(), place("P"));
      return deploy({ letter: "P", name: "Patchbay on Postgres", storage, queriesOnly: true });
    },
    async N() {
      const storage = await onPostgres(postgres(), place("N"));
      const bus = cleanup.use(await ownNats());
      return deploy({ letter: "N", name: "two replicas with NATS", storage, queriesOnly: true, replicas: 2, bus });
    },
    F: async () => floor(floorScript, folder, postgres()),
    L: async () => langgraph(postgres()),
  };
}
