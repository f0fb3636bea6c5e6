/**
 * A list without an order, in that of the list that a case asks for; what that has not comes last.
 */
export function inAskedOrder<T>(asked: unknown, got: readonly T[]): T[] {
  const order: readonly unknown[] = Array.isArray(asked) ? asked : []
  const placeOf = (value: T) => (order.includes(value) ? order.indexOf(value) : order.length)
  return [...got].sort((a, b) => placeOf(a) - placeOf(b))
}
