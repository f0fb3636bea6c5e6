import { isRecord } from './answer.js'

/** A deliberate difference from what the cases expect. Each is explained in docs/reference/deviations.md, under its id. */
export interface Deviation {
  readonly id: string
  /** The case file, without `.json`. */
  readonly file: string
  readonly reason: string
  /** Whether the rule is about such an input. */
  applies(input: unknown): boolean
  /** What the library answers instead of what the case expects. The same value, where the rule makes no difference to it. */
  expect(input: unknown, expected: unknown): unknown
}

export const deviations: readonly Deviation[] = [
  {
    id: 'free-never-negative',
    file: 'capi-pool-status',
    reason:
      'free is how many addresses can still be handed out; upstream subtracts addresses that are out of range from the total as well',
    applies: (input) => isRecord(input) && isAddressPool(input.kind) && input.updatedSpec !== undefined,
    expect: (_, expected) => withFreeAddresses(expected),
  },
]

function isAddressPool(kind: unknown): boolean {
  return kind === 'InClusterIPPool' || kind === 'GlobalInClusterIPPool'
}

/** The counts, at every level, with those out of range not taken off `free`. */
function withFreeAddresses(expected: unknown): unknown {
  if (!isRecord(expected)) return expected
  const deeper = Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, withFreeAddresses(value)]))
  const { free, outOfRange } = deeper
  return typeof free === 'number' && typeof outOfRange === 'number' ? { ...deeper, free: free + outOfRange } : deeper
}
