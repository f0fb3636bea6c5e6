import { Address, type Address4 } from 'ipam-kit/cidr'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { formatRef, type KubeObject } from 'ipam-kit/crd/meta'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import type { Effect } from 'ipam-kit/plan'
import { type CloudAddress, RESERVATIONS_ANNOTATION } from 'ipam-kit/provider/external'
import { floatingIPPools } from 'ipam-kit/provider/openstack'
import { passResult } from '../../test/provider/pass-result.js'
import { once } from '../corpora.js'
import type { Side, Work } from '../harness.js'
import { reconcilePool } from '../peers/openstack-model.js'

const [MANY, SOME, MORE, FEW] = [50_000, 10_000, 5000, 100]

export const externalPoolWorks: readonly Work[] = [
  {
    name: 'external pool: plan of one claim, 50,000 addresses',
    ours: () => plan(MANY),
    // a pool with more than 1,000 addresses in use compares its status at most once in 5 s, a small one in each plan
    peers: { 'the same with 100 addresses': () => plan(FEW), 'the same with 5,000 addresses': () => plan(MORE) },
  },
  {
    name: 'external pool: plan of one claim, 10,000 addresses',
    ours: () => plan(SOME),
    peers: { "model of upstream's reconcile": () => reconciles(SOME) },
  },
]

const [FIRST, NETWORK, NOW_MS] = [0x0a000002, 'network', 1_000_000_000]
const namespace = 'default'

/** A pool that has so many addresses, each second half of them free, and a claim that wants one. */
const sceneWith = once((count: number) => {
  const group = 'infrastructure.cluster.x-k8s.io'
  const texts = Array.from({ length: count }, (_, nth) => Address.format(Address.from4(FIRST + nth)))
  const taken = texts.slice(0, count / 2)
  const poolRef = { apiGroup: group, kind: 'OpenStackFloatingIPPool', name: 'pool' }
  const annotation = JSON.stringify({ pool: `${namespace}/pool`, uids: ['pool'], entries: [] })
  const pool = OpenStackFloatingIPPool.parse({
    ...{ apiVersion: `${group}/v1alpha1`, kind: 'OpenStackFloatingIPPool' },
    metadata: {
      ...{ name: 'pool', namespace, uid: 'pool', resourceVersion: '1' },
      annotations: { [RESERVATIONS_ANNOTATION]: annotation },
      finalizers: ['openstackfloatingippool.infrastructure.cluster.x-k8s.io'],
    },
    spec: { identityRef: { name: 'cloud', cloudName: 'openstack' }, reclaimPolicy: 'Retain' },
    status: { claimedIPs: taken, availableIPs: texts.slice(count / 2) },
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
  return { pool, claimOf, bound, addresses, texts, inUse: taken.length }
})

/** How far an address lies behind the lowest that is free. */
function beyond(inUse: number, text: string | undefined): number {
  return (Address.parse(text ?? '') as Address4).value - FIRST - inUse
}

/**
 * The two plans that give a claim its address: that of its pool, which reserves one, and that of
 * the claim, when the pool says so. Without the events between them: reading a pool takes as long
 * as its status is. Status and lists are as fresh as they have to be.
 */
function plan(count: number): Side {
  const { pool, claimOf, inUse } = sceneWith(count)
  const claim = claimOf('new')
  const [reserving, binding] = [plannerOf(count), plannerOf(count)]
  for (const planner of [reserving, binding]) {
    planner.observe({ kind: 'present', object: claim })
    planner.plan(formatRef(refOf(claim)), { nowMs: NOW_MS })
  }
  // plans of one moment are equal, so each of them compares the status
  let laterMs = NOW_MS
  const reserve = () => reserving.plan(formatRef(refOf(pool)), { nowMs: ++laterMs })
  const metadata = { ...pool.metadata, resourceVersion: '2', annotations: annotationsIn(reserve()?.effects ?? []) }
  binding.observe({ kind: 'present', object: { ...pool, metadata } as OpenStackFloatingIPPool })
  binding.plan(formatRef(refOf(pool)), { nowMs: NOW_MS })
  const run = () => [reserve(), binding.plan(formatRef(refOf(claim)), { nowMs: laterMs })?.outcome] as const
  const answer = () => {
    const [reserved, outcome] = run()
    if (outcome?.kind !== 'bound')
      throw new Error(`the claim of the benchmark is ${outcome?.kind}: ${outcome?.message}`)
    annotationsIn(reserved?.effects ?? [])
    return beyond(inUse, outcome.address)
  }
  return { run, operations: 1, answer }
}

function refOf({ apiVersion, kind, metadata: { name } }: KubeObject) {
  return { apiVersion, kind, namespace, name }
}

function annotationsIn(effects: readonly Effect[]): object {
  for (const effect of effects) {
    if (effect.kind !== 'patch' || effect.subresource !== undefined) continue
    const { annotations } = (effect.patch as { readonly metadata?: { readonly annotations?: object } }).metadata ?? {}
    if (annotations !== undefined) return annotations
  }
  throw new Error('the pool of the benchmark has reserved nothing')
}

/** A provider that knows all of a scene, and what the cloud has listed. */
function plannerOf(count: number) {
  const { pool, bound, addresses, texts } = sceneWith(count)
  const planner = floatingIPPools({ identity: 'bench' })
  const keys = planner.observe({ kind: 'present', object: pool })
  for (const object of [...bound, ...addresses]) planner.observe({ kind: 'present', object })
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
  for (let asked = 0; asked < 2; asked++) {
    for (const key of keys) {
      for (const effect of planner.plan(key, { nowMs: NOW_MS })?.effects ?? []) {
        if (effect.kind !== 'external') continue
        const value = values[effect.call.operation]
        passResult(planner, { call: effect.call, answer: { ok: true, value }, atMs: NOW_MS })
      }
    }
  }
  return planner
}

function reconciles(count: number): Side {
  const { pool, bound, addresses, claimOf, inUse } = sceneWith(count)
  const seen = { pool, addresses, claims: [...bound, claimOf('new')] }
  const run = () => reconcilePool(seen)
  return { run, operations: 1, answer: () => beyond(inUse, run()[0]) }
}
