import { CommandFailure, codeOf, reasonOf } from "@patchbay/loading/failure";
import type { Environment } from "./config.ts";

const SDK = "@opentelemetry/sdk-node";

/** Sends the last spans. Never rejects. */
export type StopTelemetry = () => Promise<void>;

/**
 * Starts the OpenTelemetry SDK, which reads the OTEL_ variables, and registers it for this process. The SDK is not a
 * part of the command, because it is larger than the rest: throws a CommandFailure that says how to install it.
 */
export async function startTelemetry(serviceName: string, environment: Environment): Promise<StopTelemetry> {
  const { NodeSDK } = await import("@opentelemetry/sdk-node").catch((error: unknown) => {
    if (codeOf(error) !== "ERR_MODULE_NOT_FOUND")
      throw new CommandFailure(`${SDK} cannot be loaded: ${reasonOf(error)}`);
    throw new CommandFailure(
      `--otel needs the package ${SDK}, which is not installed. Install it next to the command: npm install ${SDK}`,
    );
  });
  const hasName =
    environment["OTEL_SERVICE_NAME"] ||
    /(?:^|,)\s*service\.name\s*=/.test(environment["OTEL_RESOURCE_ATTRIBUTES"] ?? "");
  // Only spans: Patchbay makes no logs and metrics for OpenTelemetry, so their exporters would have nothing to send.
  const sdk = new NodeSDK({ ...(!hasName && { serviceName }), metricReaders: [], logRecordProcessors: [] });
  sdk.start();
  return () => sdk.shutdown().catch(() => {});
}
