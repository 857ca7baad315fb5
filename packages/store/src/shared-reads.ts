import type { Engine } from "./engine.ts";

interface Lane<Row> {
  reading: Promise<Row[]>;
  /** Starts when `reading` has ended, for all callers that asked in between. */
  next: Promise<Row[]> | undefined;
}

/**
 * A read that concurrent callers with the same values and organisation share. A caller never gets the answer from a
 * read that started before it asked: that one may have missed a change, such as a revocation, committed before the
 * call. So callers that arrive during a read share the next one.
 */
export function sharedRead<Values extends Record<string, string>, Row>(
  read: (engine: Engine, values: Values) => Promise<Row[]>,
): (engine: Engine, values: Values) => Promise<Row[]> {
  const lanes = new Map<string, Lane<Row>>();

  return (engine, values) => {
    const key = JSON.stringify([engine.dialect.scope(), ...Object.values(values)]);
    const begin = (): Promise<Row[]> => {
      const lane: Lane<Row> = { reading: read(engine, values), next: undefined };
      lanes.set(key, lane);
      const end = (): void => void (lane.next === undefined && lanes.delete(key));
      lane.reading.then(end, end);
      return lane.reading;
    };
    const lane = lanes.get(key);
    if (!lane) return begin();
    return (lane.next ??= lane.reading.then(begin, begin));
  };
}
