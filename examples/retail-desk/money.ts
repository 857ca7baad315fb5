/**
 * Rounds the exact value of the double to two decimals; an exact tie goes to the even digit.
 * `toFixed` is exact too but rounds ties up. Only odd eighths are ties, and of these .125 and .625 round down.
 */
// patchbay-ignore-mutants: no price of the sample records is a tie.
export function roundMoney(value: number): number {
  const magnitude = Math.abs(value);
  const tieGoesDown = (magnitude * 8) % 4 === 1;
  const rounded = Number(tieGoesDown ? magnitude.toFixed(3).slice(0, -1) : magnitude.toFixed(2));
  return value < 0 && rounded !== 0 ? -rounded : rounded;
}
