import type { Log, LogFields } from "@patchbay/control-plane";

/** A log that hands on its warnings and drops the rest. */
export function listeningLog(onWarning: (message: string, fields: LogFields) => void): Log {
  const drop = () => {};
  const log: Log = {
    debug: drop,
    info: drop,
    warn: (message, fields = {}) => onWarning(message, fields),
    error: drop,
    child: () => log,
  };
  return log;
}
