import type * as Address from '../../../cidr/nouns/address.js'
import type * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import type { Plan } from '../../../plan/index.js'
import { hostOf, KEYS } from './holds.js'
import { interfacesOf, type PodInterface } from './networks.js'
import type { PersistentIPsOutcome } from './outcome.js'
import { type PodPlan, podPlan } from './pod-plan.js'
import { podStage } from './pod-stage.js'
import { type GivenInterface, writePod } from './pod-writes.js'
import { type ServingContext, waitsForAddress } from './serving-context.js'
import { familiesOf, networkSpace, ofFamily, withLength } from './space.js'
import type { ServedPod } from './watches.js'

/** Plans what a Pod gets for its interfaces without a claim. */
export function planPod(key: string, name: string, context: ServingContext): Plan<PersistentIPsOutcome> | undefined {
  const { cache, options, sent } = context
  const entry = cache.pods.entry(name)
  if (entry === undefined || cache.definitions === undefined) return undefined
  if (!entry.ok) return { outcome: { kind: 'unreadable', message: entry.problem }, effects: [] }
  const served = entry.value
  if (podStage(served.pod) !== 'served') return undefined
  const { interfaces, problems } = interfacesOf(served, cache, options)
  const given: GivenInterface[] = []
  for (const one of interfaces.filter((each) => !isOfClaim(each))) {
    const plan = planOf(key, served, one, given, context)
    if (plan.kind === 'refused' && waitsForAddress(plan.reason)) context.wait(one.network.definition.name)
    given.push({ interface: one, plan })
  }
  if (given.length === 0 && problems.length === 0) return undefined
  const refusals = given.flatMap(({ plan }) => (plan.kind === 'refused' ? [plan] : []))
  const waits = problems.map((message) => ({ reason: 'NetworkNotReady', message }))
  const events = sent.newEvents(key, entry.object, [...refusals, ...waits])
  return { outcome: outcomeOf(refusals, problems), effects: [...writePod(served, given), ...events] }
}

/** Its claim decides what it gets. */
function isOfClaim({ attachment, network }: PodInterface): boolean {
  return attachment.claim !== undefined && network.definition.claims === 'honoured'
}

/** @param before what the plan gives other interfaces, which no other holder has yet */
function planOf(
  key: string,
  { pod, claims }: ServedPod,
  { network: { definition }, attachment, has }: PodInterface,
  before: readonly GivenInterface[],
  { holdings, options }: ServingContext,
): PodPlan {
  const ledger = holdings.ledger(definition.name)
  const taken = before.flatMap(({ interface: { network }, plan }) =>
    network.definition.name === definition.name && plan.kind === 'given' ? plan.addresses.map(addressOf) : [],
  )
  // a network that no longer honours claims: the Pod keeps what its claim holds
  const own = new Set([key, ...(has === undefined ? [] : claims.map((name) => KEYS.format('IPAMClaim', name)))])
  const free = RangeSet.subtract(networkSpace(definition).automatic, RangeSet.fromAddresses(taken))
  return podPlan({
    pod: pod.metadata.name,
    network: definition,
    requests: attachment.ips,
    requestedMAC: attachment.mac,
    addresses: has?.addresses ?? [],
    mac: has?.mac,
    isTaken: (address) =>
      RangeSet.contains(RangeSet.fromAddresses(taken), address) ||
      ledger.holders(hostOf(address)).some(({ holder }) => !own.has(holder.key)),
    next() {
      const found = familiesOf(definition).map((family) => ledger.next({ within: ofFamily(free, family) }))
      return found.some((one) => one === undefined)
        ? undefined
        : found.map((one) => withLength({ address: one!.address }, definition))
    },
    staticRequests: options.staticRequests === true ? 'serve' : 'refuse',
  })
}

function addressOf({ address }: Prefix.Prefix): Address.Address {
  return address
}

function outcomeOf(
  refusals: readonly Extract<PodPlan, { kind: 'refused' }>[],
  problems: readonly string[],
): PersistentIPsOutcome {
  if (refusals.length > 0) {
    const message = refusals.map((refusal) => refusal.message).join('; ')
    return { kind: 'refused', message, reasons: [...new Set(refusals.map(({ reason }) => reason))] }
  }
  if (problems.length > 0) return { kind: 'waiting', message: problems.join('; ') }
  return { kind: 'served', message: 'the Pod has its addresses' }
}
