import { stateOf } from 'ipam-kit/claim'
import { Cluster, IPAddress, IPAddressClaim, RELEASE_ADDRESS_FINALIZER } from 'ipam-kit/crd/cluster-api'
import type { Condition, KubeObject } from 'ipam-kit/crd/meta'
import { OpenStackFloatingIPPool, poolTag } from 'ipam-kit/crd/openstack'
import { fail, unwrap } from 'ipam-kit/errors'
import type { ExternalCall, ExternalResult } from 'ipam-kit/plan'
import { cloudCaller, IDENTITY_ANNOTATION } from 'ipam-kit/provider/external'
import { floatingIPPools, neutron } from 'ipam-kit/provider/openstack'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { type FakeCloud, neutronHandler, storeOver } from 'ipam-kit/testing'
import * as z from 'zod'
import { CaseCloud, inCloud, isQuota, networkOf } from './capo-pool-cloud.js'
import { askedOf } from './consumer-world.js'

const text = z.string()
const texts = z.array(text)
const poolRef = z.strictObject({ apiGroup: text.optional(), kind: text, name: text })

/** An input of `poolReconcile`. */
export const poolCaseSchema = z.strictObject({
  pool: z.strictObject({
    name: text,
    namespace: text,
    uid: text,
    deleting: z.boolean().nullish(),
    spec: z.strictObject({
      reclaimPolicy: z.enum(['Retain', 'Delete']),
      preAllocatedFloatingIPs: texts.nullish(),
      maxIPs: z.int().nullish(),
    }),
    status: z.strictObject({ availableIPs: texts.nullish(), failedIPs: texts.nullish() }).nullish(),
    /** How many external networks there are. */
    externalNetworks: z.int().min(0).nullish(),
  }),
  claims: z.array(
    z.strictObject({
      name: text,
      addressRef: text.nullish(),
      clusterPaused: z.boolean().nullish(),
      deleting: z.boolean().nullish(),
      poolRef: poolRef.nullish(),
    }),
  ),
  addresses: z.array(
    z.strictObject({
      name: text,
      address: text,
      claimRef: text,
      poolRef: text,
      finalizers: texts.nullish(),
      deleting: z.boolean().nullish(),
    }),
  ),
  outside: z.array(
    z.strictObject({
      ip: text,
      tag: text.nullish(),
      description: text.nullish(),
      /** `namespace/name` of the pool that has created it. */
      usedBy: text.nullish(),
      /** The machine that has it, or its port. */
      attachedTo: text.nullish(),
      port: text.nullish(),
    }),
  ),
  nextCreatedIPs: texts.nullish(),
  faults: z
    .strictObject({
      tag: text.nullish(),
      createAddress: text.nullish(),
      create: text.nullish(),
      deleteOutside: z.record(text, text).nullish(),
    })
    .nullish(),
})

export type PoolCase = z.output<typeof poolCaseSchema>

/** The credentials that a pool of a case names, and what reading them fails with. */
export interface CaseIdentity {
  readonly identityRef: { readonly name: string; readonly cloudName: string; readonly type?: string | undefined }
  readonly error?: string | undefined
}

/** Upstream's words of a pool that is kept, and of a floating IP that it creates. */
const KEPT = 'waiting for IPAddress to be deleted, until we can delete the OpenStackFloatingIPPool'
const DESCRIPTION = 'Created by cluster-api-provider-openstack OpenStackFloatingIPPool'
const IDENTITY: CaseIdentity = { identityRef: { name: 'cloud', cloudName: 'openstack', type: 'Secret' } }
const PASSWORD = 'secret'
const kinds = [IPAddressClaim, IPAddress, Cluster, OpenStackFloatingIPPool].map(({ info }) => info)
/** Until every call is settled and every list was read. */
const RUN_MS = 400_000

/** A pool with its claims and addresses, in a store and a cloud. */
export class CapoPool {
  readonly #given: PoolCase
  readonly #identity: CaseIdentity
  #nowMs = Date.UTC(2026, 0, 1)
  readonly #store: Store = memoryStore({ now: () => this.#nowMs, kinds })
  readonly #cloud: CaseCloud
  /** The uid of the pool in the store. */
  #uid = ''
  readonly #planner = floatingIPPools({ callSeconds: 10 })
  /** The claims of the case that were Bound to an IPAddress before. */
  readonly #boundBefore = new Set<string>()
  readonly #writes: string[] = []
  /**
   * The claims that were Bound to an IPAddress that was not there, and for which one was created.
   */
  readonly #rebound = new Set<string>()
  /** What a plan has failed with. */
  #failure: string | undefined

  constructor(given: PoolCase, identity: CaseIdentity = IDENTITY) {
    this.#given = given
    this.#identity = identity
    this.#cloud = new CaseCloud(() => this.#nowMs, given.nextCreatedIPs ?? [])
  }

  get cloud(): FakeCloud {
    return this.#cloud
  }

  /** What was written to claims and IPAddress objects, and changed in the cloud by calls. */
  get effects(): readonly string[] {
    const { created, deleted } = this.#cloud
    return [
      ...this.#writes,
      ...[...created, ...deleted].filter(({ by }) => by === 'call').map(({ address }) => address),
    ]
  }

  async run(): Promise<void> {
    await this.#prepare()
    await this.#pass(this.#given.faults?.createAddress != null)
  }

  /** Again, without the fault that IPAddress objects cannot be created. */
  async runNext(): Promise<void> {
    await this.#pass(false)
  }

  /** What a plan has failed with, or what a pool waits for that is kept, in upstream's words. */
  async error(): Promise<string | undefined> {
    const pool = await this.pool()
    const isKept = pool?.metadata.deletionTimestamp !== undefined && (await this.#list(IPAddress)).length > 0
    return this.#failure ?? (isKept ? KEPT : undefined)
  }

  async pool(): Promise<OpenStackFloatingIPPool | undefined> {
    return (await this.#list(OpenStackFloatingIPPool)).find(({ metadata }) => metadata.name === this.#given.pool.name)
  }

  /** What the claims have got that had nothing before. */
  async bound(): Promise<{ readonly [claim: string]: string }> {
    const addresses = new Map((await this.#list(IPAddress)).map(({ metadata, spec }) => [metadata.name, spec.address]))
    const claims = (await this.#list(IPAddressClaim)).filter((claim) => stateOf(claim).phase === 'Bound')
    const names = claims.map(({ metadata }) => metadata.name).filter((name) => this.#isGiven(name))
    const news = names.filter((name) => !this.#boundBefore.has(name)).sort()
    return Object.fromEntries(news.map((name) => [name, addresses.get(name) ?? '']))
  }

  /** The newest IPAddress of a claim that had none before. */
  async address(): Promise<IPAddress | undefined> {
    const [name] = Object.keys(await this.bound())
    return (await this.#list(IPAddress)).find(({ metadata }) => metadata.name === name)
  }

  /** Of every claim that was not Bound before: what its conditions say; none: no conditions. */
  async claimConditions(): Promise<{ readonly [claim: string]: readonly Condition[] } | undefined> {
    const claims = (await this.#list(IPAddressClaim)).filter(({ metadata: { name } }) => !this.#boundBefore.has(name))
    const said = claims.flatMap(({ metadata: { name }, status }) =>
      this.#isGiven(name) && status?.conditions?.length ? [[name, status.conditions] as const] : [],
    )
    return said.length === 0 ? undefined : Object.fromEntries(said)
  }

  /** Of every claim of the case. */
  async phases(): Promise<{ readonly [claim: string]: readonly string[] | null }> {
    const all = this.#given.claims.map(async ({ name }) => [name, await this.phaseOf(name)] as const)
    return Object.fromEntries(await Promise.all(all))
  }

  /** Phase and reason of a claim, and whether it is tried again. */
  async phaseOf(name: string): Promise<readonly string[] | null> {
    const given = this.#given.claims.find((claim) => claim.name === name)
    const claim = (await this.#list(IPAddressClaim)).find(({ metadata }) => metadata.name === name)
    if (given === undefined || claim === undefined) return null
    if (this.#rebound.has(name)) return ['Pending', 'Rebinding']
    const state = stateOf(claim)
    const ready = claim.status?.conditions?.find(({ type }) => type === 'Ready')
    if (state.phase === 'Bound') return ['Bound']
    if (state.phase === 'Pending') return ['Pending', ...(state.reason === undefined ? [] : [state.reason])]
    const isInTheWay = ready?.message?.includes('is in the way') === true
    // nothing is tried again before the object that is in the way has gone
    return isInTheWay ? ['Error', 'AddressConflict'] : ['Error', state.reason, 'retryable']
  }

  /** The names of the IPAddress objects that were on their way out and are not held any more. */
  async released(): Promise<readonly string[]> {
    const left = new Set((await this.#list(IPAddress)).map(({ metadata }) => metadata.name))
    return this.#going.filter((name) => !left.has(name))
  }

  get #going(): readonly string[] {
    return this.#given.addresses.filter(({ deleting }) => deleting === true).map(({ name }) => name)
  }

  /** The names of those whose address the cloud does not take back, as the pool says. */
  async releaseFailed(): Promise<readonly string[]> {
    const said = (await this.pool())?.status?.conditions?.map(({ message }) => message ?? '').join() ?? ''
    return this.#given.addresses
      .filter(({ name, address }) => this.#going.includes(name) && said.includes(`${address} is not deleted: `))
      .map(({ name }) => name)
  }

  /** Addresses that the pool has created, and that nothing in the cluster knows. */
  async leaked(): Promise<readonly string[]> {
    const pool = await this.pool()
    const live = (await this.#list(IPAddress)).map(({ spec }) => spec.address)
    const known = new Set([...live, ...(pool?.status?.availableIPs ?? [])])
    return this.#cloud.floatingIPs
      .filter(({ address, description }) => description.includes(`${this.#uid}/`) && !known.has(address))
      .map(({ address }) => address)
  }

  #isGiven(name: string): boolean {
    return this.#given.claims.some((claim) => claim.name === name)
  }

  async #prepare(): Promise<void> {
    const { pool, claims, addresses, outside, faults } = this.#given
    const count = pool.externalNetworks ?? 1
    const named = [
      ...outside.map(({ ip }) => ip),
      ...addresses.map(({ address }) => address),
      ...(this.#given.nextCreatedIPs ?? []),
      ...(pool.spec.preAllocatedFloatingIPs ?? []),
    ]
    for (let nth = 0; nth < count; nth++) {
      const cidrs = nth === 0 ? networkOf(named) : [`100.127.${nth % 256}.0/24`]
      this.#cloud.addNetwork({ name: `public-${nth}`, cidrs, isExternal: true })
    }
    this.#uid = await this.#createPool()
    const [network] = this.#cloud.networks
    const tag = poolTag(pool.name)
    for (const { ip, tag: given, description, usedBy, ...rest } of network === undefined ? [] : inCloud(outside)) {
      const isNamed = description === `${DESCRIPTION} ${pool.name}`
      const isOurs = given === tag || isNamed
      const uid =
        usedBy == null || usedBy === `${pool.namespace}/${pool.name}`
          ? this.#uid
          : `uid of ${usedBy}`.replace(/\W/g, '-')
      // upstream deletes it while its IPAddress is being deleted, and this library after that
      const isGoing = pool.spec.reclaimPolicy === 'Delete' && addresses.some((it) => it.deleting && it.address === ip)
      const part = isGoing ? 'deleting' : `spare-of-${ip.replace(/\W/g, '-')}`
      const marked = isOurs ? `ipam-kit ${uid}/${part}` : (description ?? '')
      const id = this.#cloud.byHand.create({ network: network!.id, address: ip, description: marked })
      if (given != null) this.#cloud.byHand.tag(id, given)
      this.#cloud.times.set(ip, outside.filter((it) => it.ip === ip).length)
      const holder = rest.attachedTo || rest.port
      if (holder) {
        this.#cloud.addPort({ id: holder, device: holder, network: network!.id, fixedIPs: [] })
        this.#cloud.byHand.attach(id, holder)
      }
    }
    for (const claim of claims) await this.#createClaim(claim)
    for (const address of addresses) await this.#createAddress(address)
    for (const { name } of claims.filter(({ deleting }) => deleting)) await this.#delete(IPAddressClaim.info, name)
    if (pool.deleting) await this.#delete(OpenStackFloatingIPPool.info, pool.name)
    if (isQuota(faults?.create)) this.#cloud.quota = this.#cloud.floatingIPs.length
    if (faults?.tag != null) this.#cloud.inject('tagAddress', ...Array.from({ length: 500 }, () => 'down' as const))
  }

  /** @returns its uid */
  async #createPool(): Promise<string> {
    const { name, namespace, spec, status } = this.#given.pool
    const { apiVersion, kind } = OpenStackFloatingIPPool.info
    const { reclaimPolicy, preAllocatedFloatingIPs, maxIPs } = spec
    const listed = (status?.availableIPs ?? []).filter((ip) => {
      const found = this.#given.outside.find((each) => each.ip === ip)
      return !preAllocatedFloatingIPs?.includes(ip) && found?.tag !== poolTag(name)
    })
    const { identityRef } = this.#identity
    const uid = await this.#create({
      apiVersion,
      kind,
      metadata: { namespace, name, finalizers: ['openstackfloatingippool.infrastructure.cluster.x-k8s.io'] },
      spec: {
        identityRef,
        reclaimPolicy,
        ...(preAllocatedFloatingIPs != null && { preAllocatedFloatingIPs }),
        ...(maxIPs != null && { maxIPs }),
      },
    } as KubeObject)
    const { availableIPs, failedIPs } = status ?? {}
    const before = { claimedIPs: [], availableIPs: availableIPs ?? [], failedIPs: failedIPs ?? [] }
    await this.#patchStatus(OpenStackFloatingIPPool.info, name, before)
    // the case's pool was served before
    const written = { pool: `${namespace}/${name}`, ids: [uid], adopted: listed }
    const annotations = { [IDENTITY_ANNOTATION]: JSON.stringify(written) }
    unwrap(await this.#store.patch({ apiVersion, kind, namespace, name }, { metadata: { annotations } }))
    return uid
  }

  async #createClaim(claim: PoolCase['claims'][number]): Promise<string> {
    const { apiVersion, kind } = IPAddressClaim.info
    const { name, addressRef, clusterPaused, poolRef: ref } = claim
    const { namespace, name: pool } = this.#given.pool
    const ours = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: OpenStackFloatingIPPool.info.kind, name: pool }
    const labels = clusterPaused ? { 'cluster.x-k8s.io/cluster-name': 'paused' } : {}
    if (clusterPaused) {
      const { apiVersion, kind } = Cluster.info
      const cluster = { apiVersion, kind, metadata: { namespace, name: 'paused' }, spec: { paused: true } }
      await this.#store.create(cluster as KubeObject)
    }
    const finalizers = addressRef ? [RELEASE_ADDRESS_FINALIZER] : []
    const metadata = { namespace, name, labels, finalizers }
    const created = await this.#create({ apiVersion, kind, metadata, spec: { poolRef: ref ?? ours } } as KubeObject)
    if (addressRef) await this.#patchStatus(IPAddressClaim.info, name, { addressRef: { name: addressRef } })
    this.#nowMs += 1000
    return created
  }

  async #createAddress(given: PoolCase['addresses'][number]): Promise<void> {
    const { name, address, claimRef, poolRef: pool, finalizers, deleting } = given
    const { namespace } = this.#given.pool
    const isOfItsName = claimRef === name
    const claim = this.#given.claims.find((each) => each.name === claimRef)
    // who has an address has a claim, whether the case names it or not
    if (claim === undefined && isOfItsName) await this.#createClaim({ name, addressRef: name })
    if (claim?.addressRef === name) this.#boundBefore.add(claimRef)
    const { apiVersion, kind } = IPAddressClaim.info
    const found = await this.#store.get({ apiVersion, kind, namespace, name: claimRef })
    const owner = found.ok && { apiVersion, kind, name: claimRef, uid: found.value.metadata.uid, controller: true }
    await this.#create({
      apiVersion: IPAddress.info.apiVersion,
      kind: IPAddress.info.kind,
      metadata: { namespace, name, finalizers: finalizers ?? [], ownerReferences: owner ? [owner] : [] },
      spec: {
        claimRef: { name: claimRef },
        poolRef: { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: OpenStackFloatingIPPool.info.kind, name: pool },
        address,
        prefix: address.includes(':') ? 128 : 32,
      },
    } as KubeObject)
    if (!deleting) return
    // an address is given back when its claim is deleted
    await this.#delete(isOfItsName ? IPAddressClaim.info : IPAddress.info, name)
  }

  async #pass(hasFault: boolean): Promise<void> {
    const endMs = this.#nowMs + RUN_MS
    const isAddress = (object: KubeObject) => object.kind === IPAddress.info.kind
    const note = (what: string, kind: string) => {
      if (kind !== OpenStackFloatingIPPool.info.kind) this.#writes.push(what)
    }
    const store = storeOver(this.#store, {
      create: (object: KubeObject) => {
        if (hasFault && isAddress(object))
          return Promise.resolve(fail('STORE_INVALID', { object: 'IPAddress', path: '', problem: 'fails' }))
        note(`create ${object.kind}`, object.kind)
        const { name } = object.metadata
        const wasBound = this.#given.claims.some((claim) => claim.name === name && claim.addressRef)
        if (isAddress(object) && wasBound) this.#rebound.add(name)
        return this.#store.create(object)
      },
      patch: (...args: Parameters<Store['patch']>) => {
        note(`patch ${args[0].kind}`, args[0].kind)
        return this.#store.patch(...args)
      },
      delete: (...args: Parameters<Store['delete']>) => {
        note(`delete ${args[0].kind}`, args[0].kind)
        return this.#store.delete(...args)
      },
    } as never)
    while (this.#nowMs < endMs) {
      const { requeueAfterSeconds = RUN_MS / 1000, failures } = await runUntilQuiet(store, [this.#planner], {
        now: () => this.#nowMs,
        external: (call) => this.#call(call),
      })
      this.#failure ??= failures[0]?.failure.code
      this.#nowMs += Math.max(1, requeueAfterSeconds) * 1000
    }
    this.#nowMs = Math.max(this.#nowMs, endMs)
  }

  async #call(call: ExternalCall): Promise<ExternalResult> {
    const { create, deleteOutside = {} } = this.#given.faults ?? {}
    const { address = '' } = call.input as { readonly address?: string | null }
    const refusals: { readonly [operation: string]: string | null | undefined } = {
      createAddress: isQuota(create) ? undefined : create,
      deleteAddress: deleteOutside?.[address ?? ''],
    }
    const message = refusals[call.operation]
    if (message == null) return this.#caller(call)
    const reason = /forbidden|denied|unauthori[sz]ed|40[13]/i.test(message) ? { reason: 'BackendDenied' as const } : {}
    return { ok: false, failure: { message, retryable: true, nothingDone: true, ...reason } }
  }

  get #caller() {
    const handler = neutronHandler(this.#cloud, { users: [{ name: 'capo', password: PASSWORD, project: 'project' }] })
    const { error, identityRef } = this.#identity
    const auth = { auth_url: 'http://openstack.test/v3', username: 'capo', password: PASSWORD, project_name: 'project' }
    const value = { clouds: { [identityRef.cloudName]: { auth } } }
    return cloudCaller(
      neutron({
        send: (request) => handler.send(request),
        now: () => this.#nowMs,
        credentials: async () =>
          error === undefined
            ? { ok: true, value }
            : { ok: false, failure: { message: error, retryable: true, nothingDone: true, reason: 'BackendDenied' } },
      }),
    )
  }

  async #create(object: KubeObject): Promise<string> {
    return unwrap(await this.#store.create(object)).metadata.uid ?? ''
  }

  async #delete({ apiVersion, kind }: (typeof kinds)[number], name: string): Promise<void> {
    unwrap(await this.#store.delete({ apiVersion, kind, namespace: this.#given.pool.namespace, name }))
  }

  async #patchStatus({ apiVersion, kind }: (typeof kinds)[number], name: string, status: object): Promise<void> {
    const ref = { apiVersion, kind, namespace: this.#given.pool.namespace, name }
    unwrap(await this.#store.patch(ref, { status } as never, { subresource: 'status' }))
  }

  async #list<T>(model: { readonly info: (typeof kinds)[number]; parse(json: unknown): T }): Promise<readonly T[]> {
    return unwrap(await this.#store.list(model.info)).items.map((object) => model.parse(object))
  }
}

/** Why a pool gives nothing, as its condition says it. */
export function readyReason(pool: OpenStackFloatingIPPool | undefined): string | null {
  return pool?.status?.conditions?.find(({ type }) => type === 'OpenstackFloatingIPPoolReadyCondition')?.reason ?? null
}

/** A condition of a pool, and of its message what is asked of it. */
export function conditionAsked(asked: unknown, conditions: readonly Condition[]): unknown {
  const { type, messageContains } = asked as { readonly type?: string; readonly messageContains?: string }
  const found = conditions.find((condition) => condition.type === type)
  if (found === undefined) return null
  const has = messageContains !== undefined && found.message?.includes(messageContains) === true
  return askedOf(asked, { ...found, messageContains: has ? messageContains : (found.message ?? null) })
}
