import { Address, type Address4 } from 'ipam-kit/cidr'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { formatRef, type KubeObject } from 'ipam-kit/crd/meta'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import { type CloudAddress, IDENTITY_ANNOTATION } from 'ipam-kit/provider/external'
import { floatingIPPools } from 'ipam-kit/provider/openstack'
import { passResult } from '../../test/provider/pass-result.js'
import { once } from '../corpora.js'
import type { Side, Work } from '../harness.js'
import { reconcilePool } from '../peers/openstack-model.js'

const [MANY, SOME, MORE, FEW] = [50_000, 10_000, 5000, 100]
/** The share of the addresses of a pool that are in use: a claim gets a free one, or a new one. */
const [HALF, ALL] = [0.5, 1]

export const largeExternalPoolWorks: readonly Work[] = [
  {
    name: 'external pool: plan of one claim, 50,000 addresses',
    ours: () => plan(MANY, HALF),
    // a pool with more than 1,000 addresses in use compares its status at most once in 5 s, a small one in each plan
    peers: {
      'the same with 100 addresses': () => plan(FEW, HALF),
      'the same with 5,000 addresses': () => plan(MORE, HALF),
    },
  },
  {
    name: 'external pool: plan of one claim that needs a new address, 50,000 addresses',
    ours: () => plan(MANY, ALL),
    peers: {
      'the same with 100 addresses': () => plan(FEW, ALL),
      'the same with 5,000 addresses': () => plan(MORE, ALL),
    },
  },
]

export const externalPoolWorks: readonly Work[] = [
  {
    name: 'external pool: plan of one claim, 10,000 addresses',
    ours: () => plan(SOME, HALF),
    peers: { "model of upstream's reconcile": () => reconciles(SOME, HALF) },
  },
  {
    name: 'external pool: plan of one claim that needs a new address, 10,000 addresses',
    ours: () => plan(SOME, ALL),
    peers: { "model of upstream's reconcile": () => reconciles(SOME, ALL) },
  },
]

const [FIRST, NETWORK, NOW_MS] = [0x0a000002, 'network', 1_000_000_000]
/** After a start, a list that was requested so much later shows all earlier calls. */
const FENCE_MS = 100_000
const namespace = 'default'

/** A pool that has so many addresses, the first of them in use, and a claim that wants one. */
const sceneOf = (share: number) =>
  once((count: number) => {
    const group = 'infrastructure.cluster.x-k8s.io'
    const texts = Array.from({ length: count }, (_, nth) => Address.format(Address.from4(FIRST + nth)))
    const taken = texts.slice(0, count * share)
    const poolRef = { apiGroup: group, kind: 'OpenStackFloatingIPPool', name: 'pool' }
    const identity = JSON.stringify({ pool: `${namespace}/pool`, ids: ['pool'], network: NETWORK })
    const pool = OpenStackFloatingIPPool.parse({
      ...{ apiVersion: `${group}/v1alpha1`, kind: 'OpenStackFloatingIPPool' },
      metadata: {
        ...{ name: 'pool', namespace, uid: 'pool', resourceVersion: '1' },
        annotations: { [IDENTITY_ANNOTATION]: identity },
        finalizers: ['openstackfloatingippool.infrastructure.cluster.x-k8s.io'],
      },
      spec: { identityRef: { name: 'cloud', cloudName: 'openstack' }, reclaimPolicy: 'Retain' },
      status: { claimedIPs: taken, availableIPs: texts.slice(taken.length) },
    })
    const claimOf = (name: string, status?: object) =>
      IPAddressClaim.parse({
        ...{ apiVersion: IPAddressClaim.info.apiVersion, kind: 'IPAddressClaim', spec: { poolRef }, status },
        metadata: { name, namespace, uid: name, resourceVersion: '1' },
      })
    const addresses = taken.map((address, nth) =>
      IPAddress.parse({
        ...{ apiVersion: IPAddress.info.apiVersion, kind: 'IPAddress' },
        metadata: { name: `claim-${nth}`, namespace, uid: `address-${nth}`, resourceVersion: '1' },
        spec: { claimRef: { name: `claim-${nth}` }, poolRef, address, prefix: 32 },
      }),
    )
    const bound = taken.map((_, nth) => claimOf(`claim-${nth}`, { addressRef: { name: `claim-${nth}` } }))
    return { pool, claim: claimOf('new'), bound, addresses, texts, inUse: taken.length }
  })
const scenes = new Map([HALF, ALL].map((share) => [share, sceneOf(share)]))
const sceneWith = (count: number, share: number) => scenes.get(share)!(count)

/** What a claim comes to: the place of its address behind the lowest free one, or a new address. */
function beyond(inUse: number, text: string | undefined): number | 'new' {
  return text === undefined ? 'new' : (Address.parse(text) as Address4).value - FIRST - inUse
}

/** The plan of a claim and the plan of its pool, with a list that shows all that the pool has. */
function plan(count: number, share: number): Side {
  const { pool, claim, inUse } = sceneWith(count, share)
  const planner = plannerOf(count, share)
  const [ofPool, ofClaim] = [pool, claim].map((object) => formatRef(refOf(object))) as [string, string]
  // a pool compares many addresses with its status at most once in 5 s
  planner.plan(ofPool, { nowMs: NOW_MS + FENCE_MS })
  const time = { nowMs: NOW_MS + FENCE_MS + 1000 }
  const run = () => {
    const planned = planner.plan(ofClaim, time)
    planner.plan(ofPool, time)
    return planned
  }
  const answer = () => {
    const { outcome, effects = [] } = run() ?? {}
    const creates = effects.some((effect) => effect.kind === 'external' && effect.call.operation === 'createAddress')
    if (outcome?.kind !== 'bound' && !creates) {
      throw new Error(`the claim of the benchmark is ${outcome?.kind}: ${outcome?.message}`)
    }
    return beyond(inUse, outcome?.kind === 'bound' ? outcome.address : undefined)
  }
  return { run, operations: 1, answer }
}

function refOf({ apiVersion, kind, metadata: { name } }: KubeObject) {
  return { apiVersion, kind, namespace, name }
}

/** A provider that knows all of a scene, and what the cloud has listed after the fence. */
function plannerOf(count: number, share: number) {
  const { pool, claim, bound, addresses, texts } = sceneWith(count, share)
  const planner = floatingIPPools()
  const keys = planner.observe({ kind: 'present', object: pool })
  for (const object of [...bound, ...addresses, claim]) planner.observe({ kind: 'present', object })
  const listed = texts.map(
    (address, nth): CloudAddress => ({
      ...{ id: `${nth}`, address, network: NETWORK },
      ...{ marker: `pool/claim-${nth}`, isAttached: false },
    }),
  )
  const values: { readonly [operation: string]: unknown } = {
    findNetwork: { id: NETWORK, name: 'public' },
    listAddresses: { addresses: listed },
  }
  for (const nowMs of [NOW_MS, NOW_MS, NOW_MS + FENCE_MS]) {
    for (const key of keys) {
      for (const effect of planner.plan(key, { nowMs })?.effects ?? []) {
        if (effect.kind !== 'external') continue
        const value = values[effect.call.operation]
        passResult(planner, { call: effect.call, answer: { ok: true, value }, atMs: nowMs })
      }
    }
  }
  return planner
}

function reconciles(count: number, share: number): Side {
  const { pool, bound, addresses, claim, inUse } = sceneWith(count, share)
  const seen = { pool, addresses, claims: [...bound, claim] }
  const run = () => reconcilePool(seen)
  return { run, operations: 1, answer: () => beyond(inUse, run()[0]) }
}
