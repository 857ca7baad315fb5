/**
 * Rounds to two decimals, on the exact value of the double; an exact tie goes to the even digit.
 * `toFixed` is exact too but takes ties upwards. Only odd eighths are ties, and of these .125 and .625 belong down.
 */
export function roundMoney(value: number): number {
  const magnitude = Math.abs(value);
  const tieGoesDown = (magnitude * 8) % 4 === 1;
  const rounded = Number(tieGoesDown ? magnitude.toFixed(3).slice(0, -1) : magnitude.toFixed(2));
  return value < 0 && rounded !== 0 ? -rounded : rounded;
}
