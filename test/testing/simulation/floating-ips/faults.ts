import type { Dice } from 'ipam-kit/testing'

/** The kinds of fault of the world, each with what happens. */
export const FAULTS = {
  'recreate-claims': 'claims are deleted and created again under the same name at once',
  'recreate-pools': 'pools are deleted while they are used, and created again under the same name',
  'late-watch': 'watches are late by up to 8 s, each by its own time',
  limit: 'maxIPs is lowered and raised',
  reclaim: 'reclaimPolicy is switched, most of all while a deletion is unanswered',
  'edit-spec': 'preallocated lists and networks of pools are changed',
  pause: 'claims and pools are paused for a while',
  'operator-own': 'an operator creates, attaches, moves and deletes addresses of people',
  'operator-pool': 'an operator attaches, moves, edits and deletes addresses that pools have created',
  reuse: 'the cloud gives a freed address again at once',
  lists: 'lists of the cloud are old by up to 5 s, in pages of several ages, in any order, with repeats',
  'cloud-calls': 'calls to the cloud are slow, refused, or not answered',
  'store-calls': 'calls to the store are slow, refused, not answered, or done late; watches end',
  quota: 'the quota of the project is used up for a while',
  'shared-address': 'two pools name the same addresses',
  move: 'a pool and its claims move to a second cluster, with the IPAddress objects a minute later',
  copy: 'a copy of a pool is created in a second cluster',
  suspend: 'a leader is suspended past its Lease, before or after a call',
  crash: 'a process ends before or after a call',
  handover: 'a leader gives its Lease back, and the next one begins at once',
  'two-leaders': 'a process works without a Lease beside the leader, by mistake',
  clocks: 'the clocks of processes differ by up to a minute',
  servers: 'servers ask for addresses too, and every process serves them',
} as const

export type FaultKind = keyof typeof FAULTS

export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[]

/**
 * The faults of a schedule. One in 16 has none, three have a single one, so that a single cause can
 * be found, and the others have two to seven.
 *
 * @param possible those that may be picked
 */
export function pickFaults(seed: number, dice: Dice, possible: readonly FaultKind[]): ReadonlySet<FaultKind> {
  const turn = seed % 16
  const count = turn === 0 ? 0 : turn <= 3 ? 1 : 2 + dice.below(6)
  const left = [...possible]
  const picked = new Set<FaultKind>()
  while (picked.size < count && left.length > 0) picked.add(left.splice(dice.below(left.length), 1)[0] as FaultKind)
  return picked
}
