import { isDeepStrictEqual } from 'node:util'
import { Cluster, IPAddress, IPAddressClaim, PAUSED_ANNOTATION } from 'ipam-kit/crd/cluster-api'
import { poolModels } from 'ipam-kit/crd/in-cluster'
import { groupOf, type KubeObject, type ObjectRef, type OwnerReference } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { inCluster, poolRefOf } from 'ipam-kit/provider/in-cluster'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import * as z from 'zod'
import { type Answer, type Answers, answered, answerKeys, type GivenCase, isRecord, unsupported } from '../answer.js'
import { type ClaimStep, isAfter, readClaimStep } from '../claim-steps.js'
import { readInput } from '../read-input.js'
import { readRepeats } from '../repeats.js'

const texts = z.record(z.string(), z.string())
const poolRefSchema = z.strictObject({ apiGroup: z.string(), kind: z.string(), name: z.string() })
const metaSchema = z.strictObject({
  name: z.string(),
  namespace: z.string().optional(),
  labels: texts.optional(),
  annotations: texts.optional(),
  finalizers: z.array(z.string()).optional(),
})
const predicateSchema = z.strictObject({
  groupKind: z.strictObject({ group: z.string(), kind: z.string() }),
  poolRef: poolRefSchema.partial({ name: true }),
})
const worldSchema = z.strictObject({
  cluster: metaSchema.extend({ paused: z.boolean().default(false) }).nullish(),
  pools: z.array(metaSchema.extend({ kind: z.enum(poolModels.map(({ info }) => info.kind)), spec: z.looseObject({}) })),
  existingAddresses: z
    .array(
      metaSchema.extend({
        ownerReferences: z.array(z.looseObject({ kind: z.string() })).optional(),
        spec: z.looseObject({}),
      }),
    )
    .default([]),
  claims: z.array(metaSchema.extend({ poolRef: poolRefSchema, clusterName: z.string().optional() })),
  steps: z.union([z.string().transform((step) => [step]), z.array(z.string())]).default([]),
})

type Input = z.output<typeof worldSchema>

/**
 * The life of claims: the provider at work on a store, as it would be on an API server, after each
 * of the steps of a case.
 */
export async function capiClaims({ input, expect }: GivenCase): Promise<Answer> {
  const predicate = predicateSchema.safeParse(input)
  if (predicate.success) {
    const { groupKind, poolRef } = predicate.data
    const served = poolRefOf({ ...poolRef, name: poolRef.name ?? 'any' }, 'any')
    return answerKeys(expect, {
      matches: () => groupKind.group === groupOf(IPAddressClaim.info.apiVersion) && served?.kind === groupKind.kind,
    })
  }
  const known = readInput(worldSchema, withSteps(input))
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const steps: ClaimStep[] = []
  for (const { text, times } of readRepeats(known.data.steps, isWholeStep)) {
    const step = readClaimStep(text)
    if (step === undefined) return unsupported(`input.then: ${text}`)
    for (let i = 0; i < times; i++) steps.push(step)
  }
  const world = new World(known.data)
  await world.begin()
  const before = await world.look()
  const moments: { readonly step: ClaimStep; readonly seen: Snapshot }[] = []
  for (const step of steps) {
    await world.perform(step)
    moments.push({ step, seen: await world.look() })
  }
  return answerMoments(expect, { world, before, moments })
}

/**
 * A sentence about an object is read whatever else it says, so a number of times has to be looked
 * for.
 */
function isWholeStep(text: string): boolean {
  return readClaimStep(text) !== undefined && !/\b(?:again|once|twice|thrice|more|times|x ?\d+)\b|[*×]/i.test(text)
}

/** The steps under a name that makes no promise of the input. */
function withSteps(input: unknown): unknown {
  if (!isRecord(input)) return input
  const { then: steps, ...world } = input
  return steps === undefined ? world : { ...world, steps }
}

interface Story {
  readonly world: World
  readonly before: Snapshot
  readonly moments: readonly { readonly step: ClaimStep; readonly seen: Snapshot }[]
}

/**
 * What is asked of the beginning, of the end, of the time after a step, or of so many seconds after
 * the last one.
 */
async function answerMoments(expect: unknown, { world, before, moments }: Story): Promise<Answer> {
  if (!isRecord(expect)) return unsupported('expect that is no object')
  const last = moments.at(-1)?.seen ?? before
  const got: { [key: string]: unknown } = {}
  for (const [key, asked] of Object.entries(expect)) {
    if (key === 'withinSeconds') {
      // everything has happened without a wait
      got[key] = asked
      continue
    }
    if (key === 'atSeconds') {
      if (!isRecord(asked)) return unsupported('expect.atSeconds that is no object')
      const states: { [seconds: string]: unknown } = {}
      for (const [seconds, wanted] of Object.entries(asked)) {
        const answer = answerKeys(
          wanted,
          answersOf(await world.lookAfter(Number(seconds))),
          `expect.atSeconds.${seconds}`,
        )
        if (answer.kind !== 'answered') return answer
        states[seconds] = answer.got
      }
      got[key] = states
      continue
    }
    const moment = /^(before|after)/.test(key) ? momentOf(key, { world, before, moments }) : undefined
    if (/^(before|after)/.test(key)) {
      if (moment === undefined) return unsupported(`expect.${key}`)
      const answer = answerKeys(asked, answersOf(moment), `expect.${key}`)
      if (answer.kind !== 'answered') return answer
      got[key] = answer.got
      continue
    }
    const answer = answerKeys({ [key]: asked }, answersOf(last))
    if (answer.kind !== 'answered') return answer
    Object.assign(got, answer.got)
  }
  return answered(got)
}

function momentOf(key: string, { before, moments }: Story): Snapshot | undefined {
  if (key === 'before') return before
  if (key === 'after') return moments.at(-1)?.seen
  return moments.find(({ step }) => isAfter(key, step))?.seen
}

/** What is stored at one moment, and why claims wait. */
interface Snapshot {
  readonly claims: readonly IPAddressClaim[]
  readonly addresses: readonly IPAddress[]
  readonly pools: readonly KubeObject[]
  readonly reasons: readonly string[]
}

function answersOf({ claims, addresses, pools, reasons }: Snapshot): Answers {
  const isOneNamespace = new Set(claims.map(({ metadata }) => metadata.namespace)).size <= 1
  const nameOf = ({ metadata }: KubeObject) =>
    isOneNamespace ? metadata.name : `${metadata.namespace}/${metadata.name}`
  const addressOf = (claim: IPAddressClaim) =>
    addresses.find(
      ({ metadata }) =>
        metadata.namespace === claim.metadata.namespace && metadata.name === claim.status?.addressRef?.name,
    )
  const bound = claims.flatMap((claim) => {
    const address = addressOf(claim)
    return address === undefined ? [] : [[nameOf(claim), textOf(address)] as const]
  })
  return {
    claims: () => claims.length,
    pools: () => pools.length,
    addresses: (asked) => (typeof asked === 'number' ? addresses.length : addresses.map(plain)),
    address: (asked) =>
      addresses.length === 0 ? 'gone' : asked === 'gone' ? addresses.map(textOf).join() : 'still there',
    bound: () => Object.fromEntries(bound),
    unbound: () => claims.filter((claim) => addressOf(claim) === undefined).map(nameOf),
    gateway: () => only(addresses.map(({ spec }) => spec.gateway)),
    claimFinalizers: () => only(claims.map(({ metadata }) => metadata.finalizers ?? [])),
    poolFinalizers: () => only(pools.map(({ metadata }) => metadata.finalizers ?? [])),
    addressRef: () => only(claims.map(({ status }) => status?.addressRef?.name)),
    reason: () => only([...new Set(reasons)]),
  }
}

/** What all have in common; all of them, if they differ. */
function only(values: readonly unknown[]): unknown {
  return values.every((value) => isDeepStrictEqual(value, values[0])) ? (values[0] ?? null) : values
}

function textOf({ spec }: IPAddress): string {
  return ['InClusterPrefixPool', 'GlobalInClusterPrefixPool'].includes(spec.poolRef.kind)
    ? `${spec.address}/${spec.prefix}`
    : spec.address
}

/** An IPAddress without what differs from run to run. */
function plain({ metadata, spec }: IPAddress): unknown {
  const { name, namespace, labels, finalizers, ownerReferences } = metadata
  const given: { [field: string]: unknown } = { name, namespace, labels, finalizers }
  if (ownerReferences !== undefined) given.ownerReferences = ownerReferences.map(plainOwner)
  return { ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)), spec }
}

/** Those whose uids the store has given are named without. */
function plainOwner({ uid, ...owner }: OwnerReference): unknown {
  const isStored = [IPAddressClaim, ...poolModels].some((model) => model.is(owner))
  return isStored ? owner : { ...owner, uid }
}

class World {
  readonly #input: Input
  readonly #store: Store
  #nowMs = Date.UTC(2026, 0, 1)
  #lastStepMs = this.#nowMs

  constructor(input: Input) {
    this.#input = input
    const kinds = [IPAddressClaim, IPAddress, Cluster, ...poolModels].map(({ info }) => info)
    this.#store = memoryStore({ now: () => this.#nowMs, kinds })
  }

  async begin(): Promise<void> {
    const { cluster, pools, existingAddresses, claims } = this.#input
    if (cluster) await this.#create(this.#clusterObject(cluster))
    for (const { kind, spec, ...metadata } of pools) {
      await this.#create({ apiVersion: versionOf(kind), kind, metadata, spec })
    }
    for (const { spec, ownerReferences, ...metadata } of existingAddresses) {
      const owners = ownerReferences as OwnerReference[] | undefined
      const owned = owners === undefined ? metadata : { ...metadata, ownerReferences: owners }
      await this.#create({ ...IPAddress.info, metadata: owned, spec })
    }
    for (const { poolRef, clusterName, ...metadata } of claims) {
      const spec = { poolRef, ...(clusterName === undefined ? {} : { clusterName }) }
      await this.#create({ ...IPAddressClaim.info, metadata, spec })
    }
  }

  async perform(step: ClaimStep): Promise<void> {
    this.#lastStepMs = this.#nowMs
    if (step.does === 'create') {
      const { cluster, claims } = this.#input
      const name = step.name ?? cluster?.name ?? clusterNameIn(claims)
      return this.#create(this.#clusterObject({ name, paused: false }))
    }
    const ref = this.#refOf(step)
    if (step.does === 'delete') {
      const deleted = await this.#store.delete(ref)
      // a second deletion finds nothing
      if (!deleted.ok && deleted.failure.code !== 'STORE_NOT_FOUND') unwrap(deleted)
      return
    }
    const isCluster = step.on === 'cluster'
    const annotate = (annotations: { readonly [name: string]: string | null }) => ({ metadata: { annotations } })
    const patches = {
      pause: isCluster ? { spec: { paused: true } } : annotate({ [PAUSED_ANNOTATION]: '' }),
      unpause: isCluster ? { spec: { paused: false } } : annotate({ [PAUSED_ANNOTATION]: null }),
      pauseByAnnotation: annotate({ [PAUSED_ANNOTATION]: '' }),
      unpauseByAnnotation: annotate({ [PAUSED_ANNOTATION]: null }),
      touch: annotate({ 'example.com/touched': 'yes' }),
    }
    unwrap(await this.#store.patch(ref, patches[step.does]))
  }

  /** Lets the provider do what there is to do, and looks. */
  async look(): Promise<Snapshot> {
    const { failures, outcomes } = await runUntilQuiet(this.#store, [inCluster()], { now: () => this.#nowMs })
    const [first] = failures
    if (first !== undefined) throw new Error(`${first.key}: ${first.failure.message}`)
    const reasons = [...outcomes.values()].flatMap((outcome) => {
      if (outcome.kind === 'paused') return [`${outcome.by} paused`]
      return outcome.kind === 'waiting' && outcome.reason === 'ClusterNotFound' ? ['cluster not found'] : []
    })
    const all = async (kind: { readonly apiVersion: string; readonly kind: string }) =>
      unwrap(await this.#store.list(kind)).items
    const pools = await Promise.all(poolModels.map(({ info }) => all(info)))
    return {
      claims: (await all(IPAddressClaim.info)).map((item) => IPAddressClaim.parse(item)),
      addresses: (await all(IPAddress.info)).map((item) => IPAddress.parse(item)),
      pools: pools.flat(),
      reasons,
    }
  }

  /** As `look`, so long after the last step. The moments have to be asked for in their order. */
  async lookAfter(seconds: number): Promise<Snapshot> {
    this.#nowMs = Math.max(this.#nowMs, this.#lastStepMs + seconds * 1000)
    return this.look()
  }

  /** What a sentence about an annotation is about, if it does not say. */
  #annotated(): ClaimStep['on'] {
    const { cluster, pools } = this.#input
    const isPaused = (object: { readonly annotations?: object | undefined }) =>
      Object.hasOwn(object.annotations ?? {}, PAUSED_ANNOTATION)
    if (pools.some(isPaused)) return 'pool'
    return cluster ? 'cluster' : 'claim'
  }

  async #create({ apiVersion, kind, metadata, spec }: KubeObject): Promise<void> {
    unwrap(await this.#store.create({ apiVersion, kind, metadata, spec }))
    this.#nowMs += 1000
  }

  #clusterObject({ paused, ...metadata }: NonNullable<Input['cluster']>): KubeObject {
    const namespace = metadata.namespace ?? this.#input.claims[0]?.namespace
    const place = namespace === undefined ? metadata : { ...metadata, namespace }
    return { ...Cluster.info, metadata: place as KubeObject['metadata'], spec: { paused } }
  }

  #refOf({ on: said, name }: ClaimStep): ObjectRef {
    const { cluster, pools, claims } = this.#input
    const on = said ?? this.#annotated()
    const claim = claims.find((candidate) => name === undefined || candidate.name === name)
    const pool = pools.find((candidate) => name === undefined || candidate.name === name)
    const { namespace } = claim ?? claims[0] ?? {}
    if (on === 'pool' && pool !== undefined) {
      return { apiVersion: versionOf(pool.kind), kind: pool.kind, namespace: pool.namespace, name: pool.name }
    }
    if (on === 'cluster') return { ...Cluster.info, namespace, name: name ?? cluster?.name ?? clusterNameIn(claims) }
    if (claim === undefined) throw new Error(`no ${on} ${name ?? ''} in the case`)
    return { ...(on === 'address' ? IPAddress : IPAddressClaim).info, namespace, name: claim.name }
  }
}

function versionOf(kind: string): string {
  return poolModels.find(({ info }) => info.kind === kind)?.info.apiVersion ?? ''
}

function clusterNameIn(claims: Input['claims']): string {
  for (const { clusterName, labels } of claims) {
    const name = clusterName ?? labels?.['cluster.x-k8s.io/cluster-name']
    if (name !== undefined) return name
  }
  throw new Error('no claim of the case names a Cluster')
}
