/** "1 agent", "3 agents", "3 queries" with its own plural. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
