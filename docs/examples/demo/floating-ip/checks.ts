import type { FakeCloud } from 'ipam-kit/testing'
import type { Check } from '../checks.js'
import type { Snapshot } from './snapshot.js'
import { PREALLOCATED } from './steps.js'

/** @param again objects that a run without a change has written */
export function checksOf(
  snapshots: readonly Snapshot[],
  { created, deleted, foreignDeletions }: Pick<FakeCloud, 'created' | 'deleted' | 'foreignDeletions'>,
  again: number,
): readonly Check[] {
  const gone = new Set(deleted.map(({ id }) => id))
  const leaked = created.filter(({ id, by }) => by === 'call' && !gone.has(id)).map(({ address }) => address)
  return [
    { rule: 'no two machines have one address', wrong: snapshots.flatMap(twiceIn) },
    { rule: 'an instance has the address of its claim, and no other', wrong: snapshots.flatMap(strayIn) },
    { rule: 'a machine without an address says why', wrong: snapshots.flatMap(silentIn) },
    { rule: 'the pool creates no more addresses than it may have', wrong: snapshots.flatMap(tooManyIn) },
    { rule: 'nothing is deleted that the pool has not created', wrong: foreignDeletions.map((it) => it.address) },
    { rule: 'claims and addresses of machines that went are gone', wrong: snapshots.flatMap(orphansIn) },
    { rule: 'of what the pool has created nothing is left at the end', wrong: leaked },
    { rule: 'a second run has nothing to write', wrong: again === 0 ? [] : [`objects written: ${again}`] },
  ]
}

function twiceIn({ title, machines }: Snapshot): readonly string[] {
  const held = machines.flatMap(({ name, address }) => (address === null ? [] : [{ name, address }]))
  return held
    .filter(({ address }, index) => held.findIndex((other) => other.address === address) !== index)
    .map(({ name, address }) => `${title}: ${address} of ${name} is that of another one`)
}

function strayIn({ title, machines, cloud }: Snapshot): readonly string[] {
  return cloud.flatMap(({ address, attached }) => {
    if (attached === null) return []
    const own = machines.find(({ name }) => name === attached)?.address
    return own === address ? [] : [`${title}: the instance of ${attached} has ${address}, its claim ${own ?? 'none'}`]
  })
}

function silentIn({ title, machines }: Snapshot): readonly string[] {
  return machines
    .filter(({ address, state, message }) => address === null && (state === null || message === ''))
    .map(({ name }) => `${title}: ${name}`)
}

function tooManyIn({ title, pool, cloud }: Snapshot): readonly string[] {
  const { length } = cloud.filter(({ createdFor }) => createdFor !== '')
  return pool?.max === undefined || length <= pool.max ? [] : [`${title}: ${length} of ${pool.max}`]
}

function orphansIn({ title, orphans }: Snapshot): readonly string[] {
  return orphans.map((text) => `${title}: ${text}`)
}

/** What the scenario is meant to show, beside the rules. */
export function expectationsOf(snapshots: readonly Snapshot[]): readonly Check[] {
  const inStep = (holds: (snapshot: Snapshot) => boolean) => (snapshots.some(holds) ? [] : ['in no step'])
  const [first] = PREALLOCATED
  return [
    { rule: 'the pool runs dry', wrong: inStep(({ pool }) => pool?.state === 'MaxIPsReached') },
    {
      rule: 'a preallocated address fails',
      wrong: inStep(({ pool }) => pool?.failed.includes(first) === true),
    },
    { rule: 'and comes back', wrong: cameBack(snapshots, first) },
    {
      rule: 'an address is in the cloud that no object tells of, when the controller has crashed',
      wrong: inStep(({ machines, cloud }) =>
        cloud.some(
          ({ address, createdFor }) =>
            createdFor.startsWith('machine') && !machines.some((it) => it.address === address),
        ),
      ),
    },
  ]
}

function cameBack(snapshots: readonly Snapshot[], address: string): readonly string[] {
  const failed = snapshots.findLastIndex(({ pool }) => pool?.failed.includes(address) === true)
  const again = snapshots.slice(failed + 1).some(({ machines }) => machines.some((it) => it.address === address))
  return failed >= 0 && again ? [] : ['no machine has it after that']
}
