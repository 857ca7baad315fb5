import { pino } from "pino";
import type { Log } from "./ports/log.ts";

/** JSON lines on stderr, from `level` up (default `info`). Members that could hold a secret are blanked. */
export function createLog(level = "info"): Log {
  const redact = ["key", "apiKey", "secret", "token", "authorization", "*.apiKey", "*.authorization"];
  const serializers = { cause: pino.stdSerializers.err, error: pino.stdSerializers.err };
  return fromPino(pino({ level, base: null, redact, serializers }, pino.destination({ fd: 2, sync: true })));
}

function fromPino(logger: pino.Logger): Log {
  return {
    debug: (message, fields = {}) => logger.debug(fields, message),
    info: (message, fields = {}) => logger.info(fields, message),
    warn: (message, fields = {}) => logger.warn(fields, message),
    error: (message, fields = {}) => logger.error(fields, message),
    child: (fields) => fromPino(logger.child(fields)),
  };
}
