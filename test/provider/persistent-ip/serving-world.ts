import { Address, Prefix } from 'ipam-kit/cidr'
import { Pod } from 'ipam-kit/crd/core'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import type { KindInfo, KubeObject, MergePatch } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition, readPodNetworks } from 'ipam-kit/crd/multinet'
import { fail, unwrap } from 'ipam-kit/errors'
import type { Planner } from 'ipam-kit/plan'
import { type PersistentIPsOptions, persistentIPs } from 'ipam-kit/provider/persistent-ip'
import { persistentIPsOnBlocks } from 'ipam-kit/provider/persistent-ip-blocks'
import { runUntilQuiet, taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'

const KINDS: readonly KindInfo[] = [IPAMClaim.info, NetworkAttachmentDefinition.info, Pod.info, IPBlock.info]
const POD_NETWORKS = 'k8s.ovn.org/pod-networks'

/** The definition of a network of OVN-Kubernetes in `ns1`, with six addresses. */
export function ovnNad(name: string, config: object = {}, rest: object = {}): KubeObject {
  const text = JSON.stringify({
    name: 'lab',
    type: 'ovn-k8s-cni-overlay',
    topology: 'layer2',
    netAttachDefName: `ns1/${name}`,
    subnets: '10.0.0.0/29',
    allowPersistentIPs: true,
    ...config,
  })
  const { apiVersion, kind } = NetworkAttachmentDefinition.info
  return { apiVersion, kind, metadata: { namespace: 'ns1', name, ...rest }, spec: { config: text } }
}

export function claimOf(name: string, status?: object, metadata: object = {}, network = 'lab'): KubeObject {
  const { apiVersion, kind } = IPAMClaim.info
  const spec = { network, interface: '' }
  return { apiVersion, kind, metadata: { namespace: 'ns1', name, ...metadata }, spec, ...(status && { status }) }
}

/** A Pod that runs, with an interface in each of these: `blue`, or `blue:vm1.blue` with a claim. */
export function podIn(name: string, networks: readonly string[], metadata: object = {}): KubeObject {
  const selection = networks.map((text) => {
    const [nad, claim] = text.split(':')
    return { name: nad, namespace: 'ns1', ...(claim !== undefined && { 'ipam-claim-reference': claim }) }
  })
  const annotations = { 'k8s.v1.cni.cncf.io/networks': JSON.stringify(selection) }
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { namespace: 'ns1', name, ...(networks.length > 0 && { annotations }), ...metadata },
    ...{ spec: { nodeName: 'n1' }, status: { phase: 'Running' } },
  }
}

export const OWN_FINALIZER = { finalizers: ['kubevirt.io/persistent-ipam'] }

/** What the planner keeps its addresses in. */
export const LEDGERS = ['objects', 'blocks'] as const
export type Ledger = (typeof LEDGERS)[number]

/** Networks, claims and Pods in a store, with the planner that gives addresses. */
export class ServingWorld {
  readonly store: Store
  planner: Planner
  outcomes: ReadonlyMap<string, { readonly kind: string; readonly reasons?: readonly string[] }> = new Map()
  /** The effects in their order, as `IPAMClaim vm1.blue`. */
  readonly effects: string[] = []
  readonly events: string[] = []
  /** Refuses what it says. */
  refuses: (effect: string) => boolean = () => false
  readonly #ledger: Ledger
  #options: PersistentIPsOptions
  #nowMs = 0

  constructor(options: PersistentIPsOptions = {}, ledger: Ledger = 'objects') {
    this.#ledger = ledger
    this.#options = options
    const store = memoryStore({ now: () => this.#nowMs, kinds: KINDS })
    this.store = new Proxy(store, {
      get: (target, member) => {
        const value: unknown = Reflect.get(target, member, target)
        if (member === 'patch') return (...given: Parameters<Store['patch']>) => this.#patch(target, given)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    this.planner = this.#newPlanner()
  }

  #newPlanner(): Planner {
    if (this.#ledger === 'objects') return persistentIPs(this.#options)
    return persistentIPsOnBlocks({ ...this.#options, graceSeconds: 0 })
  }

  /** As a new process. */
  restart(options = this.#options): void {
    this.#options = options
    this.planner = this.#newPlanner()
  }

  async put(...objects: readonly KubeObject[]): Promise<this> {
    for (const object of objects) {
      const made = unwrap(await this.store.create(object))
      if (object.kind === 'IPAMClaim' && object.status !== undefined) {
        await this.change(IPAMClaim.info, made.metadata.name, { status: object.status as never }, 'status')
      }
    }
    this.effects.length = 0
    return this
  }

  async change(info: KindInfo, name: string, patch: MergePatch, subresource?: 'status'): Promise<this> {
    const { apiVersion, kind } = info
    const ref = { apiVersion, kind, namespace: 'ns1', name }
    unwrap(await this.store.patch(ref, patch, { ...(subresource && { subresource }) }))
    return this
  }

  async delete(info: KindInfo, name: string): Promise<this> {
    const { apiVersion, kind } = info
    unwrap(await this.store.delete({ apiVersion, kind, namespace: 'ns1', name }, {}))
    return this
  }

  /** Runs the planner until it is quiet, a second later each time: rows of claims have a grace period. */
  async look(): Promise<this> {
    const now = () => this.#nowMs
    const { tasks } = this.planner as Partial<ReturnType<typeof persistentIPsOnBlocks>>
    for (let times = tasks === undefined ? 1 : 4; times > 0; times--) {
      this.#nowMs += 1000
      const result = await runUntilQuiet(this.store, [this.planner], {
        now,
        external: tasks && taskCaller({ store: this.store, tasks, now }),
        onEvent: ({ about, reason }) => this.events.push(`${about.kind} ${about.name} ${reason}`),
      })
      this.outcomes = result.outcomes as never
      if (result.requeueAfterSeconds === undefined) break
    }
    return this
  }

  /** What an outcome says in short: `served`, or `refused SubnetExhausted`. */
  outcome(key: string): string {
    const [kind, name] = key.split(' ')
    const found = this.outcomes.get(`${kind} ns1/${name}`)
    if (found === undefined) return 'none'
    return found.reasons === undefined ? found.kind : `${found.kind} ${found.reasons.join()}`
  }

  async ips(claim: string): Promise<readonly string[]> {
    const status = (await this.status(claim)) as { ips?: string[] } | undefined
    return status?.ips ?? []
  }

  async status(claim: string): Promise<unknown> {
    return (await this.#get(IPAMClaim.info, claim))?.status
  }

  /** The addresses of a Pod in each of its networks. */
  async has(pod: string): Promise<readonly string[]> {
    const text = JSON.stringify((await this.annotation(pod)) ?? {})
    return unwrap(readPodNetworks(text)).flatMap(({ addresses }) =>
      addresses.map(({ address, prefixLength = 0 }) => Prefix.format(Prefix.of(address, prefixLength))),
    )
  }

  /** The annotation of a Pod with its addresses. */
  async annotation(pod: string): Promise<unknown> {
    const text = (await this.#get(Pod.info, pod))?.metadata.annotations?.[POD_NETWORKS]
    return text === undefined ? undefined : JSON.parse(text)
  }

  /** `10.0.0.1/32 IPAMClaim ns1/vm1.blue`. */
  holders(): readonly string[] {
    const entries = this.planner.entries?.() ?? []
    return [...new Set(entries.map(({ prefix, holder }) => `${Prefix.format(prefix)} ${holder.key}`))]
  }

  /** The rows of all blocks: `10.0.0.1 ns1/vm1.blue`. */
  async rows(): Promise<readonly string[]> {
    const found = await this.store.list(IPBlock.info)
    const blocks = (found.ok ? found.value.items : []).map((object) => IPBlock.parse(object))
    return blocks.flatMap(({ spec: { cidr, rows } }) =>
      Object.entries(rows).map(([unit, { owner }]) => {
        const { address } = Prefix.parse(cidr)
        return `${Address.format(Address.add(address, Number(unit)))} ${owner}`
      }),
    )
  }

  async #patch(store: Store, given: Parameters<Store['patch']>) {
    const [{ kind, name }] = given
    if (kind !== 'IPBlock') this.effects.push(`${kind} ${name}`)
    if (this.refuses(`${kind} ${name}`))
      return fail('STORE_INVALID', { object: name, path: '', problem: 'the test refuses it' })
    return store.patch(...given)
  }

  async #get(info: KindInfo, name: string): Promise<KubeObject | undefined> {
    const { apiVersion, kind } = info
    const found = await this.store.get({ apiVersion, kind, namespace: 'ns1', name })
    return found.ok ? found.value : undefined
  }
}
