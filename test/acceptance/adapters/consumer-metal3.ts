import { hasFinalizer, type OwnerReference } from 'ipam-kit/crd/meta'
import {
  type ConsumerDevice,
  claimsFor,
  type DesiredClaim,
  type Dialect,
  dialects,
  dnsServersOf,
  planClaims,
  type ResolvedClaim,
  releasePlan,
} from 'ipam-kit/provider/consumer'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, isRecord, refused } from '../answer.js'
import { answerFunction, type CaseFunctions } from '../case-function.js'
import { addressFor, claimFor, ownerOf, readyCondition } from '../consumer-objects.js'
import { ConsumerWorld } from '../consumer-world.js'
import { validName } from '../valid-names.js'

const text = z.string()
const texts = z.array(text)
const rangeSchema = z.strictObject({
  start: text.nullish(),
  end: text.nullish(),
  subnet: text.nullish(),
  dnsServers: texts.nullish(),
})
const dnsPoolSchema = z.strictObject({ dnsServers: texts.nullish(), pools: z.array(rangeSchema).optional() })
const poolRefSchema = z.strictObject({ apiGroup: text.default(''), kind: text.default(''), name: text })
const addressSchema = z.strictObject({
  name: text,
  address: text,
  prefix: z.number(),
  gateway: text.optional(),
  dnsServers: texts.optional(),
})
const ownerSchema = z.strictObject({ kind: text, name: text, uid: text.optional() })
const readSchema = z.strictObject({
  owner: ownerSchema,
  claim: z.strictObject({
    deleting: z.boolean().optional(),
    finalizers: texts.optional(),
    ownerUids: texts.optional(),
    addressRef: text.optional(),
    /** Of a claim of metal3: as addressRef, and what condition Ready says in a word. */
    address: text.optional(),
    errorMessage: text.optional(),
  }),
  address: addressSchema.nullish(),
  pool: dnsPoolSchema.nullish(),
  poolRef: poolRefSchema.optional(),
})
const ensureSchema = z.strictObject({ data: text, pool: text, claim: z.strictObject({ name: text }).nullable() })
const releaseSchema = z.strictObject({
  claim: z.strictObject({ name: text, finalizers: texts.optional() }).nullable(),
})
const dnsSchema = z.strictObject({ poolRef: poolRefSchema, address: text, pool: dnsPoolSchema.nullable() })
/** A member that names no pool is dropped, as any unknown one. */
const poolsSchema = z.preprocess(poolMembers, z.record(text, z.union([text, poolRefSchema])))

function poolMembers(input: unknown): unknown {
  if (!isRecord(input)) return input
  return Object.fromEntries(Object.entries(input).filter(([key]) => /From(PoolRef|IPPool|Annotation)$/.test(key)))
}

const DATA = { apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta1', kind: 'Metal3Data' }
type PoolRequest = ConsumerDevice['pools'][number]
const POOL: PoolRequest = { apiGroup: 'ipam.metal3.io', kind: 'IPPool', name: 'pool' }

const functions: CaseFunctions = {
  'addressFromClaim (CAPI claim)': (input, expect) => read(readSchema.parse(input), expect, capi),
  'addressFromM3Claim (metal3 claim)': (input, expect) => read(readSchema.parse(input), expect, metal3),
  ensureIPClaim: (input, expect) => ensure(ensureSchema.parse(input), expect),
  releaseAddressFromPool: (input, expect) => release(releaseSchema.parse(input), expect),
  getAddressesFromPool: (input, expect) => getAddresses(poolsSchema.parse(input), expect),
  dnsForAddress: (input, expect) => {
    const { poolRef, address, pool } = dnsSchema.parse(input)
    const dns = dnsServersOf(poolRef, address, pool ?? undefined)
    if (dns.kind === 'failed') return refused(expect, dns.message)
    return answerKeys(expect, { dns: () => (dns.kind === 'found' ? dns.servers : null), error: () => false })
  },
}

/** What cluster-api-provider-metal3 does with claims and addresses. */
export async function consumerMetal3(given: GivenCase): Promise<Answer> {
  return answerFunction(given, functions)
}

type Resolution = ResolvedClaim['resolution']
type Resolved = Extract<Resolution, { kind: 'bound' }>['address']

/**
 * What upstream takes from where a claim stands: an address, an error, or none of the two, and then
 * it looks again.
 */
interface View {
  readonly address?: Resolved | undefined
  readonly error?: string | undefined
}

/** How one of the two kinds of claims is read. */
interface Reading {
  readonly dialect: Dialect
  readonly view: (resolution: Resolution) => View
}

const capi: Reading = {
  dialect: dialects.metal3,
  view: (resolution) => (resolution.kind === 'bound' ? { address: resolution.address } : {}),
}

/**
 * A claim of metal3 has an owner, or is not ours. An address that is still ours to use is used, and
 * a claim that could not be given one is the end.
 */
const metal3: Reading = {
  dialect: { ...dialects.metal3, adoptsUnowned: false },
  view: (resolution) => {
    if (resolution.kind === 'bound' || resolution.kind === 'deleting') return { address: resolution.address }
    const isError = resolution.kind === 'pending' && resolution.state.phase === 'Error'
    return isError ? { error: resolution.message } : {}
  },
}

async function read(input: z.output<typeof readSchema>, expect: unknown, { dialect, view }: Reading): Promise<Answer> {
  const { owner, claim, address } = input
  const type = { ...DATA, kind: owner.kind || DATA.kind }
  const world = new ConsumerWorld(type)
  const data = await world.put(ownerOf(validName(owner.name), {}, type))
  const devices = [{ pools: [poolOf(input.poolRef)] }]
  const [desired] = claimsFor(data, devices, dialect) as [DesiredClaim]
  const name = claim.addressRef ?? claim.address
  const failed = claim.errorMessage
  const found = claimFor(desired, {
    addressRef: name,
    finalizers: claim.finalizers,
    isDeleting: claim.deleting,
    // the store has given the owner another uid than the case
    ownerReferences: claim.ownerUids?.map(
      (uid): OwnerReference => (uid === owner.uid ? desired.ownerReference : { ...desired.ownerReference, uid }),
    ),
    ...(failed === undefined ? {} : { conditions: [readyCondition('False', 'AllocationFailed', failed)] }),
  })
  const stored = await world.put(found)
  const addresses = address && address.name === name ? [addressFor(desired, withoutDns(address))] : []
  const known = { owner: data, naming: dialect, devices, claims: await world.claims(), addresses } as const
  const plan = planClaims(known)
  await world.run(plan)
  const [{ resolution }] = plan.outcome.claims as readonly [ResolvedClaim]
  const seen = view(resolution)
  const left = await world.get({ ...stored, namespace: stored.metadata.namespace, name: stored.metadata.name })
  return answerKeys(expect, {
    requeue: () => seen.error === undefined && seen.address === undefined,
    error: () => seen.error !== undefined,
    ownerErrorMessageSet: () => seen.error !== undefined,
    finalizers: () => left?.metadata.finalizers ?? [],
    finalizerRemoved: () => left !== undefined && !hasFinalizer(left, String(dialect.finalizer)),
    address: (asked) => {
      if (seen.address === undefined) return null
      const { address: text, prefix, gateway } = seen.address.spec
      const all = { address: text, prefix, gateway, dnsServers: dnsOf(input, text) }
      const names = Object.keys((asked ?? all) as object)
      return Object.fromEntries(Object.entries(all).filter(([key]) => names.includes(key)))
    },
  })
}

/** A claim of metal3 has an address with name servers; for one of Cluster API the pool is asked. */
function dnsOf({ address, pool, poolRef }: z.output<typeof readSchema>, text: string): readonly string[] {
  if (address?.dnsServers !== undefined) return address.dnsServers
  const dns = pool ? dnsServersOf({ ...POOL, ...poolRef }, text, pool) : undefined
  return dns?.kind === 'found' ? dns.servers : []
}

function withoutDns({ dnsServers: _, ...address }: z.output<typeof addressSchema>) {
  return address
}

async function ensure({ data, pool, claim }: z.output<typeof ensureSchema>, expect: unknown): Promise<Answer> {
  const world = new ConsumerWorld(DATA)
  const owner = await world.put(ownerOf(validName(data), {}, DATA))
  const devices = [{ pools: [poolOf({ name: pool })] }]
  const [desired] = claimsFor(owner, devices, 'metal3') as [DesiredClaim]
  if (claim !== null) await world.put(claimFor(desired, { ...claim, name: validName(claim.name) }))
  const plan = planClaims({ owner, naming: 'metal3', devices, claims: await world.claims(), addresses: [] })
  await world.run(plan)
  const made = (await world.claims()).find(({ metadata }) => metadata.name === desired.name)
  return answerKeys(expect, {
    error: () => false,
    fetchAgain: () => plan.outcome.kind === 'creating',
    claimName: () => made?.metadata.name,
    ownedByData: () => made?.metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) === true,
  })
}

async function release({ claim }: z.output<typeof releaseSchema>, expect: unknown): Promise<Answer> {
  const world = new ConsumerWorld(DATA)
  const [, data = 'data', pool = 'pool'] = /^([^-]+)-(.+)$/.exec(claim?.name ?? '') ?? []
  const owner = await world.put(ownerOf(validName(data), {}, DATA))
  const devices = [{ pools: [poolOf({ name: pool })] }]
  const [desired] = claimsFor(owner, devices, 'metal3') as [DesiredClaim]
  if (claim !== null) {
    const finalizers = desired.finalizer ? [desired.finalizer] : []
    await world.put(claimFor(desired, { finalizers, ...claim, name: validName(claim.name) }))
  }
  await world.run(releasePlan({ owner, naming: 'metal3', devices, claims: await world.claims(), addresses: [] }))
  const left = await world.claims()
  return answerKeys(expect, { error: () => false, claimExists: () => left.length > 0 })
}

/** The pool that a reference names. One without a group and a kind is a pool of metal3. */
function poolOf({ apiGroup, kind, name }: Partial<PoolRequest> = {}): PoolRequest {
  const pool = { apiGroup: apiGroup || POOL.apiGroup, kind: kind || POOL.kind, name: name ?? POOL.name }
  return { ...pool, name: validName(pool.name) }
}

/** Every pool that a template names, once: fields and not devices refer to them. */
async function getAddresses(input: z.output<typeof poolsSchema>, expect: unknown): Promise<Answer> {
  const requests = Object.values(input).map((pool) => poolOf(typeof pool === 'string' ? { name: pool } : pool))
  const pools = [...new Map(requests.map((pool) => [pool.name, pool])).values()]
  const world = new ConsumerWorld(DATA)
  const owner = await world.put(ownerOf('abc', {}, DATA))
  const plan = planClaims({ owner, naming: 'metal3', devices: [{ pools }], claims: [], addresses: [] })
  await world.run(plan)
  const made = await world.claims()
  return answerKeys(expect, {
    error: () => false,
    claimPools: () => made.map(({ spec }) => spec.poolRef.name),
    requeue: () => plan.outcome.kind !== 'ready',
  })
}
