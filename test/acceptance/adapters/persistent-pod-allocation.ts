import { Prefix } from 'ipam-kit/cidr'
import type { Pod } from 'ipam-kit/crd/core'
import type { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import type { InterfaceAddress } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import {
  claimPlan,
  heldByClaim,
  heldByPod,
  type NetworkDefinition,
  networkOfDefinitions,
  podAttachments,
  podPlan,
  podStage,
  readNetwork,
} from 'ipam-kit/provider/persistent-ip'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'

const texts = z.array(z.string())
const claimed = z.strictObject({ ips: texts }).nullable()
const topology = z.enum(['layer2', 'layer3', 'localnet'])
const networkSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('default'), subnets: z.literal('per node'), ipam: z.literal(true) }),
  z.strictObject({
    kind: z.literal('userDefined'),
    topology,
    role: z.enum(['primary', 'secondary', '']),
    subnets: z.string(),
    ipam: z.boolean(),
    allowPersistentIPs: z.boolean(),
  }),
])
const allocation = z.strictObject({
  network: networkSchema,
  preconfiguredAddressesGate: z.boolean(),
  reallocateOnRequestFailure: z.boolean(),
  request: z.strictObject({
    ips: texts.default([]),
    mac: z.string().optional(),
    claim: z.string().optional(),
    // routes are left out in these cases
    gateways: texts.optional(),
  }),
  claim: claimed,
  podAnnotation: z.strictObject({ ips: texts.default([]), mac: z.string().optional() }).nullable(),
  allocator: z.strictObject({ explicitAllocateFailsWith: z.string().nullable(), nextIPs: texts.nullable() }),
})
const event = z.strictObject({
  topology,
  subnets: z.string(),
  allowPersistentIPs: z.boolean(),
  pod: z.strictObject({
    event: z.enum(['add/update', 'delete']),
    scheduled: z.boolean(),
    onNetwork: z.boolean().default(true),
    completed: z.boolean().default(false),
    claim: z.string().optional(),
  }),
  alreadyReleased: z.boolean(),
  releaseFromAllocator: z.boolean(),
  claim: claimed,
})
type Allocation = z.output<typeof allocation>
type Event = z.output<typeof event>

/** What a Pod gets in a network, and what its events give back. */
export function persistentPodAllocation({ input, expect }: GivenCase): Answer {
  const known = readInput(z.union([allocation, event]), input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  return 'pod' in known.data ? happened(expect, known.data) : allocated(expect, known.data)
}

function definitionOf(config: object): NetworkDefinition {
  const text = JSON.stringify({ name: 'net', type: 'ovn-k8s-cni-overlay', netAttachDefName: 'ns/nad', ...config })
  return unwrap(readNetwork({ metadata: { namespace: 'ns', name: 'nad' }, spec: { config: text } }))
}

function networkOf({ network, request, allocator: { nextIPs } }: Allocation): NetworkDefinition {
  if (network.kind === 'default') return definitionOf({ name: 'default' })
  const { kind: _, ipam: __, subnets, ...config } = network
  // where the stub has one family, it stands for a network of that family
  const isOfStub = (subnet: string) => nextIPs?.some((ip) => ip.includes(':') === subnet.includes(':'))
  const known = request.claim === undefined || nextIPs === null ? subnets : subnets.split(',').filter(isOfStub).join()
  return definitionOf({ ...config, subnets: known })
}

function addressesOf(ips: readonly string[]): readonly InterfaceAddress[] {
  return ips.map((ip) => ({ address: Prefix.parse(ip).address, prefixLength: Prefix.parse(ip).length }))
}

function claimOf(claim: Event['claim']): IPAMClaim | undefined {
  if (claim === null) return undefined
  return {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: { namespace: 'ns', name: 'claim' },
    spec: { network: 'net', interface: '' },
    status: claim,
  }
}

function allocated(expect: unknown, given: Allocation): Answer {
  const { request, podAnnotation, allocator, preconfiguredAddressesGate, reallocateOnRequestFailure } = given
  const network = networkOf(given)
  const { explicitAllocateFailsWith: failure, nextIPs } = allocator
  const [requests, addresses] = [addressesOf(request.ips), addressesOf(podAnnotation?.ips ?? [])]
  // what the claim or the Pod has already is taken by no other holder
  const isOwn = addresses.length > 0 || (given.claim?.ips.length ?? 0) > 0
  const isTaken = () => failure !== null && !(failure === 'ErrAllocated' && isOwn)
  const free = nextIPs?.map((ip) => Prefix.parse(ip))
  const claim = request.claim === undefined ? undefined : claimOf(given.claim)
  const pods = [{ name: 'pod', interfaces: 1, requests, addresses }]
  const stub = [...(free ?? [])]
  const next = () => stub.shift()?.address
  const plan = podPlan({
    ...{ pod: 'pod', network, requests, addresses, isTaken },
    requestedMAC: request.mac,
    mac: podAnnotation?.mac,
    claim: claim && claimPlan({ claim, network, pods, isTaken, next }),
    next: () => free,
    staticRequests: reallocateOnRequestFailure ? 'prefer' : preconfiguredAddressesGate ? 'serve' : 'refuse',
  })
  const got = plan.kind === 'given' ? plan : undefined
  const ips = (got?.addresses ?? []).map(Prefix.format)
  return answerKeys(expect, {
    error: () => got === undefined,
    ips: () => ips,
    mac: () => got?.mac ?? null,
    releasedOnError: () => [],
    releasedOnRollback: () => (got?.holder === 'pod' ? ips : []),
    podUpdated: () => got?.isNew ?? false,
  })
}

/** What a Pod holds before an event, and what it holds after it. */
function happened(expect: unknown, given: Event): Answer {
  const { topology: of, subnets, allowPersistentIPs, pod: its, alreadyReleased, releaseFromAllocator } = given
  const definition = definitionOf({ topology: of, subnets, allowPersistentIPs })
  const claim = claimOf(given.claim)
  const ips = claim?.status?.ips[0] === undefined ? [subnets.replace('.0/', '.80/')] : claim.status.ips
  const element = { name: 'nad', namespace: 'ns', ...(its.claim && { 'ipam-claim-reference': its.claim }) }
  const has = its.scheduled && its.onNetwork && definition.addressing === 'subnets'
  const annotations = {
    ...(its.onNetwork && { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([element]) }),
    ...(has && { 'k8s.ovn.org/pod-networks': JSON.stringify({ 'ns/nad': { ip_addresses: ips } }) }),
  }
  const podIn = (isEnded: boolean): Pod => ({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'ns', name: 'pod', annotations } },
    spec: its.scheduled ? { nodeName: 'node' } : {},
    status: { phase: isEnded ? 'Succeeded' : 'Running' },
  })
  const [before, now] = [podIn(alreadyReleased), its.event === 'delete' ? undefined : podIn(its.completed)]
  const { isInNetwork } = unwrap(podAttachments(before, networkOfDefinitions([{ definition }])))
  const ofClaim = new Set((claim === undefined ? [] : heldByClaim(claim)).map(Prefix.format))
  const heldOnly = (pod: Pod | undefined) =>
    (pod === undefined ? [] : heldByPod(pod)).filter(({ prefix }) => !ofClaim.has(Prefix.format(prefix)))
  const stage = now && podStage(now)
  return answerKeys(expect, {
    allocates: () => isInNetwork && stage === 'served',
    releasesIPs: () => releaseFromAllocator && heldOnly(before).length > heldOnly(now).length,
    // a network here has no ids
    releasesID: () => false,
    tracked: () => isInNetwork && its.scheduled && stage === 'ended',
  })
}
