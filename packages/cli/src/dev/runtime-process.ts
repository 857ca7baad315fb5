/**
 * The process that runs the functions under `patchbay dev`: argv[2] is their file. It obeys its parent alone, and ends when
 * the channel to the parent closes, however the parent ended.
 */
import { connect, type Service } from "@patchbay/functions";
import { readEnvironment } from "../config.ts";
import { createHumanLog, logLevel } from "../log.ts";
import { describeLoadError, loadService } from "../service-file.ts";
import type { FromRuntime, Link, ToRuntime } from "./messages.ts";
import { reasonOf } from "../failure.ts";

const file = process.argv[2] ?? "";
const log = createHumanLog(logLevel(readEnvironment()));

// A terminal sends these to every process of the group; the parent drains us in its own order.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});
process.on("disconnect", () => process.exit(0));

function send(message: FromRuntime, then?: () => void): void {
  process.send?.(message, then ?? (() => {}));
}

function fail(reason: string): void {
  send({ type: "failed", reason }, () => process.exit(1));
}

async function serve(service: Service, link: Link): Promise<void> {
  const runtime = connect(service, { ...link, log });
  process.on("message", (message: ToRuntime) => {
    if (message.type === "stop") void runtime.stop().finally(() => process.exit(0));
  });
  await runtime.ready;
  send({ type: "connected" });
}

async function main(): Promise<void> {
  const asked = new Promise<Link | undefined>((resolve) => {
    process.on("message", (message: ToRuntime) => resolve(message.type === "connect" ? message.link : undefined));
  });
  const service = await loadService(file);
  send({ type: "loaded", manifest: service.manifest });
  const link = await asked;
  if (link) await serve(service, link).catch((error: unknown) => fail(reasonOf(error)));
  else process.exit(0);
}

main().catch((error: unknown) => fail(describeLoadError(error, file)));
