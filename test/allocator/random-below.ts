/** Whole numbers below a limit, the same ones for the same seed. */
export function randomBelow(seed: number): (limit: number) => number {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  return (limit) => Math.floor((next() + next() / 2 ** 20) * limit) % limit
}
