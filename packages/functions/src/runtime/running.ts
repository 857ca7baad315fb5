/** The handlers that run in this process, in all and by function. */
export class RunningHandlers {
  readonly #most: number;
  /** Most handlers of a function. Undefined: as many as in all. */
  readonly limitOf: (functionName: string) => number | undefined;
  readonly #ofFunction = new Map<string, number>();
  #count = 0;

  constructor(most: number, limitOf: (functionName: string) => number | undefined) {
    this.#most = most;
    this.limitOf = limitOf;
  }

  /** True when no handler of any function may start. */
  get full(): boolean {
    return this.#count >= this.#most;
  }

  /** Counts a handler of the function. False when it may not start. */
  start(functionName: string): boolean {
    const ofFunction = this.#ofFunction.get(functionName) ?? 0;
    if (this.full || ofFunction >= (this.limitOf(functionName) ?? Infinity)) return false;
    this.#count++;
    this.#ofFunction.set(functionName, ofFunction + 1);
    return true;
  }

  end(functionName: string): void {
    this.#count--;
    this.#ofFunction.set(functionName, this.#ofFunction.get(functionName)! - 1);
  }
}
