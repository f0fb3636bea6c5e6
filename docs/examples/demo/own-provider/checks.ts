import type { Check } from '../checks.js'
import type { Snapshot } from './snapshot.js'

/** @param again objects that a run without a change has written */
export function checksOf(snapshots: readonly Snapshot[], again: number): readonly Check[] {
  const last = snapshots.at(-1)
  const left = [...(last?.claims ?? []), ...(last?.records ?? [])].map(({ name }) => name)
  return [
    { rule: 'no two claims have one address', wrong: snapshots.flatMap(twiceIn) },
    { rule: 'the address of a claim is that of its record in the product', wrong: snapshots.flatMap(strayIn) },
    { rule: 'a claim has one record at most', wrong: snapshots.flatMap(doubleIn) },
    { rule: 'a claim without an address says why', wrong: snapshots.flatMap(silentIn) },
    { rule: 'claims wait while the product fails, and are bound after that', wrong: unservedIn(snapshots) },
    { rule: 'nothing is left in the end', wrong: left },
    { rule: 'a second run has nothing to write', wrong: again === 0 ? [] : [`objects written: ${again}`] },
  ]
}

function twiceIn({ title, claims }: Snapshot): readonly string[] {
  const held = claims.flatMap(({ address }) => (address === null ? [] : [address]))
  return held.filter((address, nth) => held.indexOf(address) !== nth).map((address) => `${title}: ${address}`)
}

function strayIn({ title, claims, records }: Snapshot): readonly string[] {
  return claims
    .filter(({ address }) => address !== null)
    .filter((claim) => !records.some(({ name, address }) => isOf(claim.name, name) && address === claim.address))
    .map(({ name, address }) => `${title}: ${name} has ${address}`)
}

function doubleIn({ title, records }: Snapshot): readonly string[] {
  const names = records.map(({ name }) => name)
  return names.filter((name, nth) => names.indexOf(name) !== nth).map((name) => `${title}: ${name}`)
}

function silentIn({ title, claims }: Snapshot): readonly string[] {
  return claims
    .filter(({ address, message }) => address === null && message === '')
    .map(({ name }) => `${title}: ${name}`)
}

/** Claims that were never bound; or a run in which no claim has waited. */
function unservedIn(snapshots: readonly Snapshot[]): readonly string[] {
  const claims = snapshots.flatMap((snapshot) => snapshot.claims)
  const waited = [...new Set(claims.filter(({ phase }) => phase !== 'Bound').map(({ name }) => name))]
  if (waited.length === 0) return ['no claim has waited']
  return waited.filter((name) => !claims.some((claim) => claim.name === name && claim.phase === 'Bound'))
}

/** Records are named `namespace.claim`. */
function isOf(claim: string, record: string): boolean {
  return record.endsWith(`.${claim}`)
}
