import type * as Address from '../../../cidr/nouns/address.js'
import type * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import type { Plan } from '../../../plan/index.js'
import type { NetworkDefinition } from '../network/definition.js'
import type { RecordStep } from './address-record.js'
import { isElsewhere, KEYS } from './holds.js'
import { macHolder } from './mac-holder.js'
import { interfacesOf, type PodInterface } from './networks.js'
import { type PersistentIPsOutcome, unreadable } from './outcome.js'
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
  if (!entry.ok) return unreadable(key, entry, sent)
  const served = entry.value
  if (podStage(served.pod) !== 'served') return undefined
  const { interfaces, problems } = interfacesOf(served, cache, options)
  const given: GivenInterface[] = []
  const steps: RecordStep[] = []
  for (const one of interfaces.filter((each) => !isOfClaim(each))) {
    const { plan, step } = planOf(key, served, one, given, context)
    // the next interface is planned when this one has its address
    if (step !== undefined && step.effects.length > 0) {
      return { outcome: { kind: 'waiting', message: step.message }, effects: step.effects }
    }
    if (step !== undefined) steps.push(step)
    if (step !== undefined && !step.isExhausted) continue
    if (plan.kind === 'refused' && waitsForAddress(plan.reason)) context.wait(one.network.definition.name)
    given.push({ interface: one, plan })
  }
  if (given.length === 0 && problems.length === 0 && steps.length === 0) return undefined
  const refusals = given.flatMap(({ plan }) => (plan.kind === 'refused' ? [plan] : []))
  const waits = problems.slice(0, MAX_PROBLEMS).map((message) => ({ reason: 'NetworkNotReady', message }))
  const events = sent.newEvents(key, entry.object, [...refusals, ...waits])
  const delays = steps.flatMap(({ message, isExhausted }) => (isExhausted ? [] : [message]))
  return {
    outcome: outcomeOf(refusals, [...problems, ...delays]),
    effects: [...writePod(served, given), ...events],
    requeueAfterSeconds: firstOf(steps),
  }
}

/** The maximum number of problems that are reported: a Pod can name any number of networks. */
const MAX_PROBLEMS = 8

function listed(messages: readonly string[]): string {
  const [all, first] = [new Set(messages), [...new Set(messages)].slice(0, MAX_PROBLEMS)]
  return [...first, ...(all.size > first.length ? [`${all.size - first.length} more problems`] : [])].join('; ')
}

function firstOf(steps: readonly RecordStep[]): number | undefined {
  const times = steps.flatMap(({ requeueAfterSeconds }) => requeueAfterSeconds ?? [])
  return times.length === 0 ? undefined : Math.min(...times)
}

/** Its claim decides what it gets. */
function isOfClaim({ attachment, network }: PodInterface): boolean {
  return attachment.claim !== undefined && network.definition.claims === 'honoured'
}

/** @param before what the plan gives other interfaces, which no other holder has yet */
function planOf(
  key: string,
  served: ServedPod,
  one: PodInterface,
  before: readonly GivenInterface[],
  { open, options, cache }: ServingContext,
): { readonly plan: PodPlan; readonly step: RecordStep | undefined } {
  const { pod, claims } = served
  const {
    network: { definition },
    attachment,
    has,
  } = one
  const taken = before.flatMap(({ interface: { network }, plan }) =>
    network.definition.name === definition.name && plan.kind === 'given' ? plan.addresses.map(addressOf) : [],
  )
  // a network that no longer honours claims: the Pod keeps what its claim holds
  const own = new Set([key, ...(has === undefined ? [] : claims.map((name) => KEYS.format('IPAMClaim', name)))])
  const free = RangeSet.subtract(networkSpace(definition).automatic, RangeSet.fromAddresses(taken))
  const addresses = has?.addresses ?? []
  // what it has already was given when the definitions of all its holders existed
  const isLater = (holder: string) => addresses.length > 0 && isElsewhere(holder, definition.name, cache)
  const record = open({ object: pod, interface: attachment.key, network: definition, own, isLater, has: addresses })
  const plan = podPlan({
    pod: pod.metadata.name,
    network: definition,
    requests: attachment.ips,
    requestedMAC: attachment.mac,
    macHolder: macHolder(served, one, cache, options),
    addresses,
    mac: has?.mac,
    isTaken: (address) => RangeSet.contains(RangeSet.fromAddresses(taken), address) || record.isTaken(address),
    next() {
      const found = familiesOf(definition).map((family) => record.next(ofFamily(free, family)))
      return found.some((one) => one === undefined)
        ? undefined
        : found.map((address) => withLength({ address: address! }, definition))
    },
    staticRequests: options.staticRequests === true ? 'serve' : 'refuse',
  })
  const lacks = plan.kind === 'refused' && plan.reason === 'SubnetExhausted'
  // one interface asks an exhausted network for all of its Pod
  const isAsked = lacks && before.some((each) => isExhaustedIn(definition, each))
  const step = isAsked ? undefined : record.before(plan.kind === 'given' ? plan.addresses : [])
  const isExhausted = plan.kind === 'refused' && step?.isExhausted === true
  return { plan: isExhausted ? { ...plan, message: step.message } : plan, step }
}

function isExhaustedIn({ name }: NetworkDefinition, { interface: { network }, plan }: GivenInterface): boolean {
  return network.definition.name === name && plan.kind === 'refused' && plan.reason === 'SubnetExhausted'
}

function addressOf({ address }: Prefix.Prefix): Address.Address {
  return address
}

function outcomeOf(
  refusals: readonly Extract<PodPlan, { kind: 'refused' }>[],
  problems: readonly string[],
): PersistentIPsOutcome {
  if (refusals.length > 0) {
    const message = listed(refusals.map((refusal) => refusal.message))
    return { kind: 'refused', message, reasons: [...new Set(refusals.map(({ reason }) => reason))] }
  }
  if (problems.length > 0) return { kind: 'waiting', message: listed(problems) }
  return { kind: 'served', message: 'the Pod has its addresses' }
}
