import type { IPAddress } from 'ipam-kit/crd/cluster-api'
import { isIpamError } from 'ipam-kit/errors'
import {
  addressesOfPool,
  type ConsumerDevice,
  claimsFor,
  clusterPool,
  DEFAULT_GATEWAY_ANNOTATION,
  type DesiredClaim,
  deviceConfig,
  dialects,
  isExpectedPool,
  isSameOwner,
  networkConfig,
  POOL_OFFSET_ANNOTATION,
  planClaims,
  reportedAddresses,
  resolveClaim,
  resolveClaims,
} from 'ipam-kit/provider/consumer'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, isRecord, refused, those } from '../answer.js'
import { answerFunction, type CaseFunctions } from '../case-function.js'
import { addressFor, addressOf, claimFor, ownerOf } from '../consumer-objects.js'
import { askedOf, ConsumerWorld } from '../consumer-world.js'
import { type ValidNaming, validName, validNaming, wantedClaims } from '../valid-names.js'

const text = z.string()
const annotations = z.record(text, text)
/** A group that is not given is empty. */
const group = z.preprocess((value) => value ?? '', text)
const poolSchema = z.strictObject({ apiGroup: group, kind: text, name: text })
const referenceSchema = z.strictObject({
  apiVersion: text,
  kind: text,
  name: text,
  uid: text,
  controller: z.boolean().optional(),
})
const ownerSchema = z.strictObject({ apiVersion: text, kind: text, name: text, namespace: text, uid: text })
const addressSchema = z.strictObject({
  name: text,
  namespace: text.optional(),
  poolRef: poolSchema,
  claimRef: text.optional(),
  annotations: annotations.optional(),
  address: text.optional(),
  prefix: z.number().optional(),
  gateway: text.optional(),
})
const resolveSchema = z.strictObject({
  owner: ownerSchema,
  want: z.strictObject({ device: text, poolRef: poolSchema, annotations: annotations.default({}) }),
  claim: z
    .strictObject({
      name: text,
      namespace: text.optional(),
      annotations: annotations.optional(),
      ownerReferences: z.array(referenceSchema).default([]),
      poolRef: poolSchema,
      addressRef: text.optional(),
    })
    .nullable(),
  addresses: z.array(addressSchema).default([]),
})
const nameSchema = z.strictObject({ owner: text, device: text, annotations: annotations.default({}) })
const createSchema = z.strictObject({ owner: text, device: text, offset: z.int().min(0), cluster: text })
const clusterPoolSchema = z.strictObject({
  cluster: text,
  addresses: z.array(text),
  prefix: z.number(),
  gateway: text.optional(),
  metric: z.number().nullish(),
})
const boundSchema = z.strictObject({ device: text, offset: z.int().min(0), pool: text, address: text })
/**
 * What a case says of a claim that is there: whose it is, or which pool it is for, if not what is
 * wanted.
 */
const EXISTING = /^(?:pending|owned by (.+)|(?:for|of|references) (?:pool )?(.+))$/
const reconcileSchema = z.strictObject({
  defaultPoolV4: text,
  defaultPoolV6: text.optional(),
  devices: z.array(
    z.strictObject({
      name: text,
      defaultIPv4: z.boolean().default(false),
      defaultIPv6: z.boolean().default(false),
      pools: z.array(text).default([]),
      existingClaim: z.string().regex(EXISTING).optional(),
    }),
  ),
  resolved: z.array(boundSchema).default([]),
})
const statusSchema = z.record(
  text,
  z.strictObject({ ipv4: z.array(text).default([]), ipv6: z.array(text).default([]) }),
)
const recoverSchema = z.strictObject({
  /** The state of the machine; `null` where there is none. Only one that runs reports addresses. */
  vm: text.nullable(),
  network: z.null().optional(),
  status: statusSchema,
  resolved: z.array(boundSchema).default([]),
})
const networkSchema = z.strictObject({
  device: text,
  mac: text.nullish(),
  addresses: z.array(
    z.strictObject({
      address: text,
      prefix: z.number(),
      gateway: text.optional(),
      metric: z.number().optional(),
      /** Of the cluster's own pool. Its gateway is one like any other. */
      default: z.boolean().optional(),
    }),
  ),
})

const functions: CaseFunctions = {
  resolveClaim: (input, expect) => resolve(resolveSchema.parse(input), expect),
  claimName: (input, expect) => {
    const { owner, device, annotations: given } = nameSchema.parse(input)
    const naming = validNaming('proxmox', [{ name: device, pools: [poolOf('pool', given)] }])
    const [desired] = claimsFor(ownerOf(owner), naming.devices, naming.dialect)
    return answerKeys(expect, { name: () => naming.given(desired?.name ?? '') })
  },
  isOwnedByExactMachine: (input, expect) => {
    const { owner, ownerReferences } = z
      .strictObject({ owner: ownerSchema, ownerReferences: z.array(referenceSchema) })
      .parse(input)
    return answerKeys(expect, { result: () => ownerReferences.some((reference) => isSameOwner(owner, reference)) })
  },
  poolRefMatches: (input, expect) => {
    const { observed, expected } = z.strictObject({ observed: poolSchema, expected: poolSchema }).parse(input)
    return answerKeys(expect, { result: () => isExpectedPool(expected, observed) })
  },
  addressesOfPool: (input, expect) => {
    const known = z.strictObject({ expected: poolSchema, addresses: z.array(addressSchema) }).parse(input)
    const all = known.addresses.map(({ claimRef, ...address }) =>
      addressOf({ ...address, claim: claimRef ?? address.name }),
    )
    return answerKeys(expect, {
      names: () => addressesOfPool(known.expected, all).map(({ metadata }) => metadata.name),
    })
  },
  createClaim: (input, expect) => {
    const { owner, device, offset, cluster } = createSchema.parse(input)
    const request = poolOf('pool', { [POOL_OFFSET_ANNOTATION]: String(offset) })
    const options = { clusterName: cluster }
    const naming = validNaming('proxmox', [{ name: device, pools: [request] }])
    const [desired] = claimsFor(ownerOf(owner), naming.devices, naming.dialect, options) as [DesiredClaim]
    return answerKeys(expect, { claimName: () => naming.given(desired.name), labels: () => desired.labels })
  },
  clusterPool: (input, expect) => {
    const pool = clusterPool({ namespace: 'default', ...clusterPoolSchema.parse(input) })
    return answerKeys(expect, {
      name: () => pool.metadata.name,
      annotations: (asked) => askedOf(asked, pool.metadata.annotations),
      addresses: () => pool.spec.addresses,
      prefix: () => pool.spec.prefix,
      gateway: () => pool.spec.gateway,
      addressReuseGracePeriodSeconds: () => pool.spec.addressReuseGracePeriodSeconds,
    })
  },
  reconcileAddresses: (input, expect) => reconcile(reconcileSchema.parse(input), expect),
  recoverStatus: (input, expect) => recover(recoverSchema.parse(input), expect),
  networkConfig: (input, expect) => network(networkSchema.parse(input), expect),
}

/** What cluster-api-provider-proxmox does with claims and addresses. */
export async function consumerProxmox(given: GivenCase): Promise<Answer> {
  try {
    return await answerFunction(given, functions)
  } catch (error) {
    if (isIpamError(error)) return refused(given.expect, error.message)
    throw error
  }
}

type PoolRequest = ConsumerDevice['pools'][number]

function poolOf(name: string, own: { readonly [key: string]: string } = {}): PoolRequest {
  return { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name, annotations: own }
}

/** Proxmox says Resolved of what is Bound. */
const STATUS = {
  missing: 'Missing',
  pending: 'Pending',
  bound: 'Resolved',
  deleting: 'Deleting',
  conflict: 'Conflict',
} as const

/** Upstream's rule: a claim without this very owner is another's. */
const EXACT_OWNER = { ...dialects.proxmox, adoptsUnowned: false }

function resolve({ owner, want, claim, addresses }: z.output<typeof resolveSchema>, expect: unknown): Answer {
  const { apiVersion, kind, name, namespace, uid } = owner
  const machine = ownerOf(name, { namespace, uid }, { apiVersion, kind })
  const devices = [{ name: want.device, pools: [{ ...want.poolRef, annotations: want.annotations }] }]
  const naming = validNaming(EXACT_OWNER, devices)
  const [desired] = wantedClaims(machine, devices, naming.dialect) as [DesiredClaim]
  const found = claim === null ? undefined : claimFor(desired, { ...claim, name: validName(claim.name) })
  const claimName = naming.given(desired.name)
  const wantedName = claim === null ? claimName : claim.addressRef
  const address = addresses.find((each) => each.name === wantedName && (each.namespace ?? namespace) === namespace)
  const { claimRef = claimName, ...of } = address ?? { name: '' }
  const own = { ...of, claim: validName(claimRef), ...(claim === null ? { name: desired.name } : {}) }
  const resolution = resolveClaim(desired, found, address === undefined ? undefined : addressFor(desired, own))
  return answerKeys(expect, {
    error: () => false,
    status: () => STATUS[resolution.kind],
    reason: () => ('reason' in resolution ? resolution.reason : undefined),
    claimName: () => claimName,
    address: () => (resolution.kind === 'bound' ? resolution.address.spec.address : null),
    addressName: () => (resolution.kind === 'bound' ? resolution.address.metadata.name : null),
    annotations: () => (resolution.kind === 'bound' ? resolution.annotations : null),
    orphanedAddressName: () => (resolution.kind === 'missing' && resolution.orphanAddress ? wantedName : undefined),
  })
}

type Bound = z.output<typeof boundSchema>

/** The address of a desired claim that a case says is resolved. */
function boundOf(
  { annotations: own, deviceName, poolRef }: DesiredClaim,
  resolved: readonly Bound[],
  { given }: ValidNaming,
): Bound | undefined {
  const offset = Number(own[POOL_OFFSET_ANNOTATION])
  return resolved.find(
    ({ device, offset: at, pool }) => device === deviceName && at === offset && pool === given(poolRef.name),
  )
}

async function reconcile(input: z.output<typeof reconcileSchema>, expect: unknown): Promise<Answer> {
  const machine = ownerOf('test-machine')
  const world = new ConsumerWorld(machine)
  const owner = await world.put(machine)
  const cluster = input.defaultPoolV4.replace(/-v4-icip$/, '')
  const defaults = { 4: input.defaultPoolV4, 6: input.defaultPoolV6 ?? ipv6PoolOf(cluster) }
  const devices = input.devices.map((device): ConsumerDevice => {
    const families = ([4, 6] as const).filter((family) => device[`defaultIPv${family}`])
    const own = families.map((family) => poolOf(defaults[family], { [DEFAULT_GATEWAY_ANNOTATION]: 'true' }))
    return { name: device.name, pools: [...own, ...device.pools.map((pool) => poolOf(pool))] }
  })
  const naming = validNaming(EXACT_OWNER, devices)
  const addresses: IPAddress[] = []
  for (const desired of claimsFor(owner, naming.devices, naming.dialect)) {
    const bound = boundOf(desired, input.resolved, naming)
    const { existingClaim } = input.devices[desired.deviceIndex] ?? {}
    const [, other, pool] = EXISTING.exec(existingClaim ?? '') ?? []
    if (bound === undefined && (existingClaim === undefined || desired.poolIndex > 0)) continue
    const addressRef = bound && `${desired.name}-address`
    const reference = { ...desired.ownerReference, name: other ?? owner.metadata.name, ...(other && { uid: other }) }
    const poolRef = pool === undefined ? desired.poolRef : { ...desired.poolRef, name: validName(pool) }
    await world.put(
      claimFor(desired, { annotations: desired.annotations, ownerReferences: [reference], addressRef, poolRef }),
    )
    if (bound)
      addresses.push(addressFor(desired, { name: `${desired.name}-address`, address: bound.address, prefix: 24 }))
  }
  const known = { owner, naming: naming.dialect, devices: naming.devices, addresses }
  const plan = planClaims({ ...known, claims: await world.claims() })
  await world.run(plan)
  const { condition } = plan.outcome
  const claims = await world.claims()
  const reported = reportedAddresses(plan.outcome.claims)
  return answerKeys(expect, {
    error: () => null,
    // a machine that is not provisioned yet is looked at again, also when it has its addresses
    requeue: () => condition?.status !== 'True',
    condition: (asked) => askedOf(asked, condition),
    conditionStatus: () => condition?.status,
    reason: () => condition?.reason,
    messageContains: (asked) =>
      those(asked, (part) => condition !== undefined && naming.given(condition.message).includes(part)),
    totalClaims: () => claims.length,
    claimsPerPool: (asked) => askedOf(asked, countBy(claims.map(({ spec }) => naming.given(spec.poolRef.name)))),
    ownerUnchanged: (asked) =>
      claims.every(({ metadata }) => metadata.ownerReferences?.every(({ name }) => name === asked)) ? asked : null,
    status: (asked) => statusOf(asked, reported),
    statusMissing: (asked) => those(asked, (device) => !reported.has(device)),
  })
}

/** The name of the pool of a cluster for IPv6. */
function ipv6PoolOf(cluster: string): string {
  return clusterPool({ cluster, namespace: 'default', addresses: ['fd00::/64'], prefix: 64 }).metadata.name
}

function countBy(names: readonly string[]): { readonly [name: string]: number } {
  const counts: { [name: string]: number } = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

/**
 * What a status lists, without empty lists; the entry for the cluster's own pools only where a case
 * asks for it.
 */
function statusOf(asked: unknown, reported: ReturnType<typeof reportedAddresses>): unknown {
  const isAsked = (entry: string) => entry !== 'default' || (isRecord(asked) && Object.hasOwn(asked, entry))
  const entries = [...reported].filter(([entry]) => isAsked(entry))
  return Object.fromEntries(
    entries.map(([entry, lists]) => [
      entry,
      Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0)),
    ]),
  )
}

async function recover(input: z.output<typeof recoverSchema>, expect: unknown): Promise<Answer> {
  const machine = ownerOf('test-machine')
  const world = new ConsumerWorld(machine)
  const owner = await world.put(machine)
  const isSpecified = input.vm === 'running' && input.network !== null
  const devices = (isSpecified ? input.resolved : []).map(({ device, offset, pool }): ConsumerDevice => {
    return { name: device, pools: [poolOf(pool, { [POOL_OFFSET_ANNOTATION]: String(offset) })] }
  })
  const naming = validNaming('proxmox', devices)
  const wanted = claimsFor(owner, naming.devices, naming.dialect)
  const addresses: IPAddress[] = []
  for (const [index, desired] of wanted.entries()) {
    const name = `${desired.name}-address`
    await world.put(claimFor(desired, { addressRef: name }))
    addresses.push(addressFor(desired, { name, address: input.resolved[index]?.address, prefix: 24 }))
  }
  const before = await world.claims()
  const recovered = reportedAddresses(resolveClaims(wanted, before, addresses), {
    lastStatus: new Map(Object.entries(input.status)),
  })
  const after = await world.claims()
  return answerKeys(expect, {
    error: () => null,
    status: (asked) => statusOf(asked, recovered),
    claimsCreated: () => after.length - before.length,
    // what is recovered are addresses, and nothing else
    conditionReasonUnchanged: () => true,
  })
}

/** So a device is told from others where a case has no word of it. */
const SOME_MAC = '02:00:00:00:00:01'

function network({ device, mac = SOME_MAC, addresses }: z.output<typeof networkSchema>, expect: unknown): Answer {
  const pools = addresses.map((_, index) => poolOf(`pool-${index}`))
  const desired = wantedClaims(ownerOf('machine'), [{ name: device, pools }], 'proxmox')
  const objects = desired.map((each, index) => {
    const { address, prefix, gateway } = addresses[index] ?? {}
    return addressFor(each, { name: each.name, address, prefix, gateway })
  })
  const metricOf = (address: IPAddress) => addresses[objects.indexOf(address)]?.metric
  const config = deviceConfig({ index: 0 }, objects, { metricOf })
  if (config.kind === 'invalid') return refused(expect, config.problems.map(({ message }) => message).join('\n'))
  const rendered = networkConfig(mac ?? undefined, config)
  if (rendered === undefined) return refused(expect, 'unable to extract mac address')
  return answerKeys(expect, {
    mac: () => rendered.mac,
    addresses: () => rendered.addresses,
    routes: () => rendered.routes,
    error: () => false,
  })
}
