/** Takes one item from each list in turn, so that a limit omits no list. */
export function* inTurns<T>(lists: Iterable<T>[]): Iterable<T> {
  let open = lists.map((list) => list[Symbol.iterator]());
  while (open.length > 0) {
    const left: typeof open = [];
    for (const source of open) {
      const next = source.next();
      if (next.done === true) continue;
      yield next.value;
      left.push(source);
    }
    open = left;
  }
}
