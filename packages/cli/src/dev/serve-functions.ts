import { connect, type Service } from "@patchbay/functions";
import { readEnvironment } from "../config.ts";
import { createHumanLog, logLevel } from "../log.ts";
import { describeLoadError, loadService } from "../service-file.ts";
import type { FromRuntime, Link, ToRuntime } from "./messages.ts";

const level = logLevel(readEnvironment());
let lossExpected = false;
const log = createHumanLog(() => (lossExpected ? "error" : level));

function send(message: FromRuntime, then?: () => void): void {
  process.send?.(message, then ?? (() => {}));
}

function fail(reason: string): void {
  send({ type: "failed", reason }, () => process.exit(1));
}

async function serve(service: Service, link: Link): Promise<void> {
  const runtime = connect(service, { ...link, log });
  process.on("message", (message: ToRuntime) => {
    if (message.type === "expectLoss") lossExpected = true;
    if (message.type === "stop") void runtime.stop().finally(() => process.exit(0));
  });
  await runtime.ready;
  send({ type: "connected" });
}

/** Loads the functions of `file` and, when the parent says where, connects them. */
export async function serveFunctions(file: string): Promise<void> {
  const asked = new Promise<Link | undefined>((resolve) => {
    process.on("message", (message: ToRuntime) => resolve(message.type === "connect" ? message.link : undefined));
  });
  try {
    const service = await loadService(file);
    send({ type: "loaded", manifest: service.manifest });
    const link = await asked;
    if (link) await serve(service, link);
    else process.exit(0);
  } catch (error) {
    fail(describeLoadError(error, file));
  }
}
