/** Lets one at a time have something, in the order in which they asked. */
export function createTurns() {
  const waiting: (() => void)[] = [];
  let taken = false;

  function pass(): void {
    const next = waiting.shift();
    if (next) next();
    else taken = false;
  }

  return {
    /** Resolves when it is the caller's turn, with what ends the turn; ending it twice does nothing. */
    async take(): Promise<() => void> {
      if (taken) await new Promise<void>((resolve) => waiting.push(resolve));
      taken = true;
      let over = false;
      return () => {
        if (over) return;
        over = true;
        pass();
      };
    },
  };
}
