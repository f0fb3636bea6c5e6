import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import type { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { unwrap } from 'ipam-kit/errors'
import {
  claimPlan,
  type NetworkDefinition,
  networkSpace,
  persistentIPs,
  readNetwork,
} from 'ipam-kit/provider/persistent-ip'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, isRecord, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'

const texts = z.array(z.string())
const claimSchema = z.strictObject({
  namespace: z.string(),
  name: z.string(),
  spec: z.strictObject({ network: z.string() }),
  status: z.strictObject({ ips: texts }),
})
const pool = { network: z.string(), poolSubnets: texts, preallocated: z.array(texts) }
const claim = claimSchema.nullable()
const inputSchema = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('reconcile'), ...pool, stored: claim, old: claim, new: claim }),
  z.strictObject({ op: z.literal('sync'), ...pool, claims: z.array(claimSchema) }),
  z.strictObject({ op: z.literal('release'), ...pool, claim: claimSchema }),
  z.strictObject({
    op: z.literal('find'),
    netConf: z.strictObject({ topology: z.string(), subnets: z.string() }),
    reference: z.strictObject({ namespace: z.string(), name: z.string() }),
    stored: claim,
  }),
  z.strictObject({
    op: z.literal('startNetwork'),
    network: z.strictObject({
      name: z.string(),
      topology: z.string(),
      subnets: z.string(),
      allowPersistentIPs: z.boolean().default(false),
    }),
    enablePersistentIPs: z.boolean(),
    claims: z.array(claimSchema),
    deleteClaims: texts.default([]),
  }),
])
type Input = z.output<typeof inputSchema>
type Op<O extends Input['op']> = Extract<Input, { op: O }>
type GivenClaim = z.output<typeof claimSchema>

/** What a network holds for claims, and what a claim gets. */
export function persistentClaimReconciler({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { data } = known
  switch (data.op) {
    case 'find':
      return found(expect, data)
    case 'reconcile':
      return reconciled(expect, data)
    case 'startNetwork':
      return started(expect, data)
    default:
      return held(expect, data)
  }
}

function networkOf(network: object): NetworkDefinition {
  const config = JSON.stringify({ type: 'ovn-k8s-cni-overlay', netAttachDefName: 'ns/nad', ...network })
  return unwrap(readNetwork({ metadata: { namespace: 'ns', name: 'nad' }, spec: { config } }))
}

/** A network whose claims are honoured. */
function poolOf({ network, poolSubnets }: { readonly network: string; readonly poolSubnets: readonly string[] }) {
  return networkOf({ name: network, topology: 'layer2', subnets: poolSubnets.join(), allowPersistentIPs: true })
}

const CLAIM = { apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim' }

function objectOf({ namespace, name, spec, status }: GivenClaim): IPAMClaim {
  const { network } = spec
  return {
    ...CLAIM,
    metadata: { namespace, name },
    spec: { network, interface: '' },
    status,
  }
}

/** What claims and Pods hold in a network, by the planner of the network side. */
class Holders {
  readonly network: NetworkDefinition
  readonly #space: RangeSet
  readonly #planner = persistentIPs()
  #versions = 0

  constructor(network: NetworkDefinition) {
    this.network = network
    this.#space = networkSpace(network).addresses
  }

  /** Those of another network hold nothing here. */
  holdClaim(given: GivenClaim): void {
    this.#observe(objectOf(given))
  }

  /** Addresses of a holder that is no claim. */
  hold(name: string, ips: readonly string[]): void {
    const spec = { network: this.network.name, interface: '' }
    this.#observe({ ...objectOf({ namespace: 'others', name, spec, status: { ips: [...ips] } }) })
  }

  release({ namespace, name }: { readonly namespace: string; readonly name: string }): void {
    const { apiVersion, kind } = CLAIM
    this.#planner.observe({ kind: 'absent', ref: { apiVersion, kind, namespace, name } })
  }

  /** Takes addresses, as the case asks for. */
  allocate(asked: unknown): unknown {
    if (Array.isArray(asked)) return asked.map((each) => this.allocate(each))
    if (!isRecord(asked) || !Array.isArray(asked.ips)) return asked
    const ips = asked.ips.map(String)
    const prefixes = ips.map(hostOf)
    const isOutside = prefixes.some(({ address }) => !RangeSet.contains(this.#space, address))
    const isTaken = prefixes.some((prefix) => this.#holders().some((held) => Prefix.equals(held, prefix)))
    if (!isOutside && !isTaken) this.hold(`next-${this.#versions}`, ips)
    return { ...asked, error: isOutside ? 'ErrNotInRange' : isTaken ? 'ErrAllocated' : null }
  }

  #holders(): readonly Prefix[] {
    const entries = this.#planner.entries?.() ?? []
    return entries.flatMap(({ prefix, holder }) => (holder.pool === this.network.name ? [prefix] : []))
  }

  #observe(object: IPAMClaim): void {
    const version = String(++this.#versions)
    const metadata = { ...object.metadata, uid: `uid-${version}`, resourceVersion: version }
    this.#planner.observe({ kind: 'present', object: { ...object, metadata } })
  }
}

function hostOf(text: string): Prefix {
  const { address } = Prefix.parse(text)
  return Prefix.of(address, Address.bitsOf(address.family))
}

/** Addresses that were taken before are those of the claim that lists them, else of another holder. */
function withTaken(input: Op<'reconcile' | 'sync' | 'release'>, claims: readonly GivenClaim[]): Holders {
  const holders = new Holders(poolOf(input))
  for (const ips of input.preallocated) {
    const owner = claims.find(({ spec, status }) => spec.network === input.network && status.ips.join() === ips.join())
    if (owner === undefined) holders.hold(`other-${ips.join('-')}`, ips)
  }
  for (const one of claims) holders.holdClaim(one)
  return holders
}

function held(expect: unknown, input: Op<'sync' | 'release'>): Answer {
  const claims = input.op === 'sync' ? input.claims : [input.claim]
  const holders = withTaken(input, claims)
  if (input.op === 'release') holders.release(input.claim)
  return answerKeys(expect, { error: () => null, thenAllocate: (asked) => holders.allocate(asked) })
}

function started(expect: unknown, { network, enablePersistentIPs, claims, deleteClaims }: Op<'startNetwork'>): Answer {
  const holders = new Holders(networkOf(network))
  const areHonoured = enablePersistentIPs && holders.network.claims === 'honoured'
  if (areHonoured) for (const one of claims) holders.holdClaim(one)
  for (const key of deleteClaims) {
    const [namespace = '', name = ''] = key.split('/')
    holders.release({ namespace, name })
  }
  return answerKeys(expect, { error: () => null, thenAllocate: (asked) => holders.allocate(asked) })
}

/** The new state of a claim is what its Pod has. */
function reconciled(expect: unknown, input: Op<'reconcile'>): Answer {
  const { stored, old, new: wanted } = input
  const holders = withTaken(input, old === null ? [] : [old])
  if (wanted === null && old !== null) holders.release(old)
  const plan = stored !== null && wanted !== null ? planOf(holders.network, stored, wanted.status.ips) : undefined
  const ips = plan?.isNew === true ? plan.addresses.map(Prefix.format) : (stored?.status.ips ?? [])
  return answerKeys(expect, {
    error: () => plan?.refused[0]?.message ?? null,
    statusWritten: () => plan?.isNew === true,
    storedIPs: () => ips,
    thenAllocate: (asked) => holders.allocate(asked),
  })
}

function planOf(network: NetworkDefinition, stored: GivenClaim, ips: readonly string[]) {
  const addresses = ips.map((text) => ({
    address: Prefix.parse(text).address,
    prefixLength: Prefix.parse(text).length,
  }))
  const pods = addresses.length === 0 ? [] : [{ name: 'pod', interfaces: 1, requests: [], addresses }]
  return claimPlan({ claim: objectOf(stored), network, pods, isTaken: () => false, next: () => undefined })
}

function found(expect: unknown, { netConf, reference, stored }: Op<'find'>): Answer {
  const of = stored ?? { ...reference, spec: { network: 'justanetwork' }, status: { ips: [] } }
  // a network of layer3 that allows persistent addresses is refused when it is read
  const network = networkOf({ name: of.spec.network, allowPersistentIPs: netConf.topology !== 'layer3', ...netConf })
  const pods = [{ name: 'pod', interfaces: 1, requests: [], addresses: [] }]
  const plan = claimPlan({ claim: objectOf(of), network, pods, isTaken: () => false, next: () => undefined })
  return answerKeys(expect, { error: () => plan.refused[0]?.message ?? null, claim: () => stored })
}
