import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { OpenStackServer } from 'ipam-kit/crd/openstack'
import { fail, unwrap } from 'ipam-kit/errors'
import {
  type FloatingIP,
  type FloatingServerOutcome,
  floatingServers,
  type RouterLinks,
  type ServerCloud,
  serverCloudCaller,
} from 'ipam-kit/provider/openstack'
import { runUntilQuiet } from 'ipam-kit/run'
import type { MergePatch, Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import * as z from 'zod'
import { NAMESPACE } from './consumer-objects.js'
import { refTo } from './consumer-world.js'

const text = z.string()

export const serverSchema = z.strictObject({
  server: text.min(1),
  uid: text.optional(),
  labels: z.record(text, text).optional(),
  floatingIPPoolRef: z.strictObject({ apiGroup: text.optional(), kind: text, name: text }).optional(),
  claim: z
    .strictObject({
      addressRef: text.optional(),
      ownerUid: text.optional(),
      deleting: z.boolean().optional(),
    })
    .nullish(),
  /** What the IPAddress of the claim has. */
  address: text.optional(),
  serverAddresses: z.array(text).optional(),
  outside: z.array(z.strictObject({ ip: text, network: text.optional(), port: text.nullish() })).optional(),
  ports: z.array(z.union([text, z.strictObject({ id: text, routerGatewayNetwork: text.optional() })])).optional(),
  deleting: z.boolean().optional(),
  instance: z.boolean().optional(),
  /** `create claim fails: boom`, `delete instance fails`. */
  fault: text.optional(),
})

export type ServerCase = z.output<typeof serverSchema>

/** An address that a case does not name. */
const SOME_ADDRESS = '203.0.113.1'
const INSTANCE = 'the instance'
const kinds = [OpenStackServer.info, IPAddressClaim.info, IPAddress.info, Cluster.info]

/**
 * A server with its claim, in a store and a cloud, beside a machine controller that makes and
 * deletes its instance.
 */
export class CapoServer {
  readonly #given: ServerCase
  readonly #store: Store = memoryStore({ now: () => this.#nowMs, kinds })
  /** The machine controller deletes the instance: claims wait for that, as upstream's. */
  readonly #planner = floatingServers({ releaseWhen: 'instanceGone' })
  readonly #cloud: CaseCloud
  readonly #fault: { readonly of: string; readonly message: string } | undefined
  readonly #claim: string
  #nowMs = 0
  #uid = ''
  readonly events: string[] = []
  /** What was deleted and released, in order. */
  readonly order: string[] = []
  outcome: FloatingServerOutcome | undefined
  error: string | undefined
  isRequeued = false
  isServerCreated = false

  constructor(given: ServerCase) {
    this.#given = given
    this.#claim = `${given.server}-floating-ip-address`
    const [, of = '', message = ''] = /^(.+?) fails?(?:: (.*))?$/.exec(given.fault ?? '') ?? []
    this.#fault = given.fault === undefined ? undefined : { of, message: message || 'failed' }
    this.#cloud = new CaseCloud(given, (operation) => (this.#isAtFault(operation) ? this.#fault?.message : undefined))
  }

  /** Which word of its fault is not known. */
  get unknownFault(): string | undefined {
    const { fault } = this.#given
    return fault === undefined || Object.keys(FAULTS).some((name) => this.#isAtFault(name)) ? undefined : fault
  }

  get calls(): readonly string[] {
    return this.#cloud.calls
  }

  get associatedPort(): string | undefined {
    return this.#cloud.portOf(this.#given.address ?? SOME_ADDRESS) || undefined
  }

  async run(): Promise<void> {
    await this.#prepare()
    await this.#work()
    const { deleting = false, instance = false } = this.#given
    if (deleting && instance) await this.#deleteInstance()
    else if (this.outcome?.kind === 'bound') await this.#createInstance()
    if (this.outcome?.kind === 'error') this.error ??= this.outcome.message
  }

  async claim(): Promise<IPAddressClaim | undefined> {
    return (await this.#get(IPAddressClaim.info, this.#claim)) as IPAddressClaim | undefined
  }

  /** The uid that the case gives to the server. */
  uidOf(uid: string | undefined): string | undefined {
    return uid === this.#uid ? this.#given.uid : uid
  }

  async condition(): Promise<object | undefined> {
    const server = (await this.#get(OpenStackServer.info, this.#given.server)) as OpenStackServer | undefined
    return server?.status?.conditions?.find(({ type }) => type === 'FloatingAddressFromPoolReady')
  }

  async #prepare(): Promise<void> {
    const { server, labels, floatingIPPoolRef, claim, address = SOME_ADDRESS, deleting, instance, uid } = this.#given
    const { apiVersion, kind } = OpenStackServer.info
    const finalizers = deleting ? ['ipam-kit.dev/floating-ip'] : []
    const metadata = { name: server, namespace: NAMESPACE, labels: labels ?? {}, finalizers }
    const created = await this.#create({ apiVersion, kind, metadata, spec: { floatingIPPoolRef } })
    this.#uid = created.metadata.uid ?? ''
    if (instance) await this.#status(created, { instanceID: INSTANCE })
    if (claim && floatingIPPoolRef !== undefined) {
      const owner = { apiVersion, kind, name: server, uid: this.#uid }
      const ownerUid = claim.ownerUid === undefined || claim.ownerUid === uid ? this.#uid : claim.ownerUid
      const made = await this.#create({
        ...{ apiVersion: IPAddressClaim.info.apiVersion, kind: IPAddressClaim.info.kind },
        metadata: {
          ...{ name: this.#claim, namespace: NAMESPACE, labels: labels ?? {} },
          // a claim of this server as it was made, and one that is on its way out is held
          finalizers: [
            'openstackmachine.infrastructure.cluster.x-k8s.io/ip-claim',
            ...(claim.deleting ? ['example.com/held'] : []),
          ],
          ownerReferences: [{ ...owner, uid: ownerUid }],
        },
        spec: { poolRef: floatingIPPoolRef },
      })
      const name = claim.addressRef || undefined
      if (name !== undefined) {
        const spec = { claimRef: { name: this.#claim }, poolRef: floatingIPPoolRef, address, prefix: 32 }
        await this.#create({
          apiVersion: IPAddress.info.apiVersion,
          kind: 'IPAddress',
          metadata: { name, namespace: NAMESPACE },
          spec,
        })
        await this.#status(made, { addressRef: { name } })
      }
      if (claim.deleting) await this.#store.delete(refTo(made))
    }
    if (deleting) await this.#store.delete(refTo(created))
  }

  async #createInstance(): Promise<void> {
    this.isServerCreated = true
    this.#cloud.hasInstance = true
    const server = await this.#get(OpenStackServer.info, this.#given.server)
    if (server !== undefined) await this.#status(server, { instanceID: INSTANCE })
    await this.#work()
  }

  async #deleteInstance(): Promise<void> {
    for (const step of ['delete instance', 'delete ports']) {
      if (this.#isAtFault(step)) {
        this.error = this.#fault?.message
        break
      }
      this.order.push(step)
      if (step === 'delete ports') this.#cloud.hasInstance = false
    }
    // a look at the cloud is some seconds old by then
    this.#nowMs += 60_000
    await this.#work()
  }

  async #work(): Promise<void> {
    const result = await runUntilQuiet(this.#observed(), [this.#planner], {
      now: () => this.#nowMs,
      external: serverCloudCaller(this.#cloud),
      onEvent: ({ reason }) => this.events.push(reason),
    })
    this.outcome = [...result.outcomes.values()].at(-1)
    this.isRequeued = result.requeueAfterSeconds !== undefined
    const [failed] = result.failures
    if (failed !== undefined) this.error = this.#fault?.message ?? failed.failure.code
  }

  /**
   * The store as the planner has it: it refuses what the case says, and what is released is noted.
   */
  #observed(): Store {
    const store = this.#store
    return storeOver(store, {
      create: async (object, ...more) => {
        if (object.kind === 'IPAddressClaim' && this.#isAtFault('create claim')) return this.#refusal()
        return store.create(object, ...more)
      },
      patch: async (ref, patch, ...more) => {
        const isRelease = Array.isArray((patch as { metadata?: MergePatch }).metadata?.finalizers)
        const what = `remove ${ref.kind === 'IPAddressClaim' ? 'claim' : 'server'} finalizer`
        if (isRelease && this.#isAtFault(what)) return this.#refusal()
        const done = await store.patch(ref, patch, ...more)
        const deleted = isRelease && this.#given.deleting === true
        if (done.ok && deleted) this.order.push(what)
        return done
      },
      delete: async (ref, ...more) => {
        this.order.push(`delete ${ref.kind === 'IPAddressClaim' ? 'claim' : ref.kind}`)
        return store.delete(ref, ...more)
      },
    })
  }

  #refusal() {
    return fail('STORE_IO', { operation: 'write', problem: this.#fault?.message ?? '' })
  }

  #isAtFault(what: string): boolean {
    const { of = '' } = this.#fault ?? {}
    return Object.hasOwn(FAULTS, what) ? FAULTS[what]!.test(of) : false
  }

  async #create(object: KubeObject): Promise<KubeObject> {
    return unwrap(await this.#store.create(object))
  }

  async #status(object: KubeObject, status: object): Promise<void> {
    unwrap(await this.#store.patch(refTo(object), { status }, { subresource: 'status' }))
  }

  async #get({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }, name: string) {
    const found = await this.#store.get({ apiVersion, kind, namespace: NAMESPACE, name })
    return found.ok ? found.value : undefined
  }
}

/** What can fail, and how a case calls it. */
const FAULTS: { readonly [what: string]: RegExp } = {
  'create claim': /^(creat|mak)\w* (the )?claim/,
  'delete instance': /^delet\w* (the )?(instance|server)/,
  'delete ports': /^delet\w* (the )?ports?/,
  'remove claim finalizer': /claim finalizer/,
  'remove server finalizer': /server finalizer/,
  attachFloatingIP: /^(associat|attach)/,
  detachFloatingIP: /^(disassociat|detach)/,
  describeServer: /^(list|get|read|look|describe)/,
}

/** The cloud of a case. */
class CaseCloud implements ServerCloud {
  readonly calls: string[] = []
  hasInstance: boolean
  readonly #given: ServerCase
  readonly #faultOf: (operation: string) => string | undefined
  #floatingIPs: readonly FloatingIP[]

  constructor(given: ServerCase, faultOf: (operation: string) => string | undefined) {
    this.#given = given
    this.#faultOf = faultOf
    this.hasInstance = given.instance ?? false
    this.#floatingIPs = (given.outside ?? []).map(({ ip, network = '', port }, index) => ({
      ...{ id: `floating IP ${index}`, address: ip, network, port: port ?? '' },
    }))
  }

  portOf(address: string): string | undefined {
    return this.#floatingIPs.find((each) => each.address === address)?.port
  }

  async describeServer({ address }: { readonly address: string }) {
    // an instance has a port, also where a case does not name it
    const { serverAddresses = [], ports = ['a port'] } = this.#given
    const all = this.hasInstance ? ports.map((port) => (typeof port === 'string' ? { id: port } : port)) : []
    const floatingIPs = this.#floatingIPs.filter((each) => each.address === address)
    const routers: RouterLinks[] = all.map((port) => ({
      ...{ id: `router of ${port.id}`, subnets: [`subnet of ${port.id}`] },
      gatewayNetwork: 'routerGatewayNetwork' in port ? port.routerGatewayNetwork : undefined,
    }))
    const network = {
      addresses: this.hasInstance ? serverAddresses : [],
      ports: all.map(({ id }) => ({ id, fixedIPs: [{ subnet: `subnet of ${id}`, address: '10.0.0.4' }] })),
      routers,
      floatingIPs,
    }
    return this.#answer('describeServer', network)
  }

  async attachFloatingIP({ id, port }: { readonly id: string; readonly port: string }) {
    return this.#set('attachFloatingIP', id, port)
  }

  async detachFloatingIP({ id }: { readonly id: string }) {
    return this.#set('detachFloatingIP', id, '')
  }

  #set(operation: string, id: string, port: string) {
    const done = this.#answer(operation, {})
    if (done.ok) this.#floatingIPs = this.#floatingIPs.map((each) => (each.id === id ? { ...each, port } : each))
    return done
  }

  #answer<T>(operation: string, value: T) {
    this.calls.push(operation)
    const message = this.#faultOf(operation)
    if (message === undefined) return { ok: true, value } as const
    return { ok: false, failure: { message, retryable: true, nothingDone: true } } as const
  }
}
