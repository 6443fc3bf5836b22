/** A lognormal with that mean: round trips and answers have long tails. */
export function lognormal(dice: () => number, mean: number, sigma: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - dice())) * Math.cos(2 * Math.PI * dice());
  return mean * Math.exp(sigma * normal - sigma ** 2 / 2);
}

/** An exponential with that mean: what comes by chance, at any time. */
export function exponential(dice: () => number, mean: number): number {
  return -mean * Math.log(1 - dice());
}
