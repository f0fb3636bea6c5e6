import type { Check } from '../checks.js'
import type { Snapshot } from './snapshot.js'

interface Evidence {
  readonly snapshots: readonly Snapshot[]
  /** Answers that were not to be expected. */
  readonly surprises: readonly string[]
  /** Writes of a second sweep. */
  readonly again: number
}

/** What always holds, and what the scenario is meant to come to. */
export function checksOf({ snapshots, surprises, again }: Evidence): readonly Check[] {
  const swept = snapshots.filter(({ title }) => title.startsWith('The sweep'))
  const verified = snapshots.filter(
    ({ upgrade }) => upgrade?.at(-1)?.startsWith('verifyUpgrade: ') && !upgrade.at(-1)?.includes(' differ '),
  )
  const last = snapshots.at(-1)
  return [
    { rule: 'every call is answered as expected', wrong: surprises },
    { rule: 'no two Pods have one address', wrong: snapshots.flatMap(twice) },
    { rule: 'a Pod that was told an address has it on the side that counts', wrong: snapshots.flatMap(amiss) },
    { rule: 'both sides name the same Pods if the upgrade says so', wrong: verified.flatMap(apart) },
    { rule: 'a crash leaves a row or a reservation alone', wrong: snapshots.some(isHalf) ? [] : ['no step has one'] },
    { rule: 'after a sweep each row and reservation is of a Pod that exists', wrong: swept.flatMap(left) },
    { rule: 'nothing is left in the end', wrong: (last?.addresses ?? []).map(({ address }) => address) },
    { rule: 'a second sweep has nothing to write', wrong: again === 0 ? [] : [`it writes ${again} times`] },
  ]
}

function twice({ title, told }: Snapshot): readonly string[] {
  const texts = [...told.values()]
  return texts.filter((text, nth) => texts.indexOf(text) !== nth).map((text) => `${title}: ${text}`)
}

/** In a pool it needs its row and its reservation, and in a block its row. */
function amiss({ title, told, addresses, isOnBlocks }: Snapshot): readonly string[] {
  return [...told].flatMap(([pod, text]) => {
    const { row, reservation, block } = addresses.find(({ address }) => address === text) ?? {}
    const isRight = isOnBlocks ? block === pod : row === pod && reservation === pod
    return isRight ? [] : [`${title}: ${pod} was told ${text}`]
  })
}

function apart({ title, addresses }: Snapshot): readonly string[] {
  return addresses.flatMap(({ address, row, block }) => (row === block ? [] : [`${title}: ${address}`]))
}

function isHalf({ addresses }: Snapshot): boolean {
  return addresses.some(({ row, reservation }) => (row === null) !== (reservation === null))
}

function left({ title, addresses, pods }: Snapshot): readonly string[] {
  return addresses.flatMap(({ address, row, reservation }) =>
    row !== null && row === reservation && pods.includes(row) ? [] : [`${title}: ${address}`],
  )
}
