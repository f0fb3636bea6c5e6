import fc from 'fast-check'
import type { AddressPool, AllocationDelta } from 'ipam-kit/allocator'
import { Address, type Family, RangeSet } from 'ipam-kit/cidr'
import { rangeSetIn } from 'ipam-kit/testing/arbitraries'

/** A pool as it is asked for: ranges and exclusions inside of a window. */
export interface Spec {
  readonly ranges: RangeSet
  readonly exclude: RangeSet
}

export type Command =
  | { readonly do: 'allocate'; readonly uid: string; readonly family: Family | undefined }
  | { readonly do: 'claim' | 'occupy' | 'release'; readonly uid: string; readonly address: Address }
  | { readonly do: 'releaseOwner'; readonly uid: string }
  | { readonly do: 'undo'; readonly which: number }
  | { readonly do: 'resize'; readonly spec: Spec }

/** Addresses that begin at `base`. */
export interface Window {
  readonly base: Address
  readonly size: number
}

export function addressesOf({ base, size }: Window): Address[] {
  return Array.from({ length: size }, (_, offset) => Address.add(base, BigInt(offset)))
}

/** A pool inside of some windows: most of their addresses, with holes. */
export function spec(windows: readonly Window[]): fc.Arbitrary<Spec> {
  const within = () =>
    fc.tuple(...windows.map(({ base, size }) => rangeSetIn(base, size))).map((sets) => sets.reduce(RangeSet.union))
  return fc.record({ ranges: within(), exclude: fc.oneof(fc.constant(RangeSet.empty), within()) })
}

/** Few owners over few addresses, so that they meet. */
export function script(windows: readonly Window[]): fc.Arbitrary<Command[]> {
  const uid = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
  const address = fc.constantFrom(...windows.flatMap(addressesOf))
  const family = fc.constantFrom(undefined, undefined, 4 as const, 6 as const)
  const about = (name: 'claim' | 'occupy' | 'release') => fc.record({ do: fc.constant(name), uid, address })
  const command: fc.Arbitrary<Command> = fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('allocate' as const), uid, family }) },
    { weight: 4, arbitrary: about('claim') },
    { weight: 4, arbitrary: about('occupy') },
    { weight: 4, arbitrary: about('release') },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('releaseOwner' as const), uid }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('undo' as const), which: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('resize' as const), spec: spec(windows) }) },
  )
  return fc.array(command, { maxLength: 40, size: 'max' })
}

/** Runs a command. Deltas of allocations are added to `deltas`, for `undo` to choose from. */
export function run(pool: AddressPool, command: Command, deltas: AllocationDelta[]) {
  switch (command.do) {
    case 'allocate':
    case 'claim': {
      const owner = { uid: command.uid, key: `default/${command.uid}` }
      const outcome =
        command.do === 'allocate'
          ? pool.allocate({ owner, family: command.family })
          : pool.allocate({ owner, want: { kind: 'address', address: command.address } })
      if (outcome.kind === 'allocated') deltas.push(outcome.delta)
      return outcome
    }
    case 'occupy':
      return pool.occupy(command.address, { uid: command.uid })
    case 'release':
      return pool.release(command.address, { uid: command.uid })
    case 'releaseOwner':
      return pool.releaseOwner(command.uid)
    case 'undo': {
      const delta = deltas[command.which % Math.max(1, deltas.length)]
      return delta === undefined ? undefined : pool.undo(delta)
    }
    case 'resize':
      return pool.resize(command.spec)
  }
}
