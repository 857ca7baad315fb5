import { hostname } from "node:os";
import { FRAMES_VERSION, LIMITS, type Manifest, type ReportedCase, VERSION } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { Log } from "../log.ts";
import type { Service } from "../service.ts";
import { reportedCases, withCaseVerdicts } from "./case-verdicts.ts";
import { encodeFrame } from "./frames.ts";
import type { createTraces } from "./traces.ts";

const SDK = `patchbay-functions/${VERSION}`;

/** The sending runtime, with `connect` options. */
interface Sender {
  instanceId: string;
  deployment?: string;
  shadow?: boolean;
  reportCases?: boolean;
  accessLock?: Readonly<Record<string, unknown>>;
  concurrency: number;
  log: Log;
  traces: ReturnType<typeof createTraces>;
}

/**
 * A connection's first frame. Throws for a function set that is too large. If the lock and reported cases, or then the
 * case verdicts, would make it too large, they are omitted. The promise never rejects: nothing awaits it before a
 * connection opens, and an unhandled rejection would end the owner's process.
 */
export function helloOf(service: Service, sender: Sender): Promise<string> {
  const { deployment, shadow, reportCases = false, accessLock, instanceId, concurrency, log, traces } = sender;
  if (shadow)
    return Promise.resolve(
      required(
        encodeFrame({ type: "shadow", version: FRAMES_VERSION, instanceId, sdk: SDK, manifest: service.manifest }),
      ),
    );
  const encode = (manifest: Manifest, { cases = [], lock }: Reported = {}) =>
    encodeFrame({
      type: "hello",
      version: FRAMES_VERSION,
      instanceId,
      manifest,
      ...present({ deployment }),
      concurrency,
      sdk: SDK,
      host: hostname().slice(0, 255),
      ...(cases.length > 0 && { cases }),
      ...present({ lock }),
    });
  const text = required(encode(service.manifest));
  // Calls follow the hello, and their spans need the traces.
  return Promise.all([withCaseVerdicts(service, log), traces.load()])
    .then(([manifest]) => {
      const cases = reportCases ? reportedCases(service, log) : [];
      const full = encode(manifest, { cases, ...reportedLock(accessLock, log) });
      if (full !== undefined) return full;
      log.warn("the console does not show the lock and all cases: they and the functions exceed the limit", {
        limitBytes: LIMITS.frameBytes,
      });
      return encode(manifest) ?? text;
    })
    .catch((error: unknown) => {
      log.warn("the service connects without cases, lock and spans", { error });
      return text;
    });
}

interface Reported {
  cases?: ReportedCase[];
  lock?: Record<string, unknown>;
}

function reportedLock(lock: Sender["accessLock"], log: Log): Pick<Reported, "lock"> {
  if (lock === undefined) return {};
  const units = JSON.stringify(lock).length;
  if (units <= LIMITS.reportedLockUnits) return { lock: { ...lock } };
  log.warn("the access lock is not shown in the console: it exceeds the limit", {
    units,
    limitUnits: LIMITS.reportedLockUnits,
  });
  return {};
}

function required(frame: string | undefined): string {
  if (frame !== undefined) return frame;
  throw new TypeError(
    `connect: the function set exceeds the limit of ${LIMITS.frameBytes} bytes. Shorten schemas or descriptions.`,
  );
}
