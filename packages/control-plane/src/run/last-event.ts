/** True for the JSON of the event that ends a run's log with an answer: `type` is its first member, as the journal writes it. */
export const succeeds = (body: string): boolean => body.startsWith('{"type":"finalResponse"');

/** True for the JSON of an event that ends a run's log. */
export const ends = (body: string): boolean => succeeds(body) || body.startsWith('{"type":"error"');
