import { Address } from 'ipam-kit/cidr'
import { Pod } from 'ipam-kit/crd/core'
import { IPPool as BlockPool, IPBlock, IPDomain } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import { NETWORK_STATUS_ANNOTATION, NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { IPPool, OverlappingRangeIPReservation, readRows } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import { readWhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import { blockAdd, dualAdd, poolsOf } from 'ipam-kit/provider/whereabouts-blocks'
import { LEASE, runTask, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { admin } from '../../docs/examples/whereabouts-admin/admin.js'

const MODELS = [NetworkAttachmentDefinition, IPPool, OverlappingRangeIPReservation, BlockPool, IPBlock, IPDomain, Pod]

export const POOL = '10.10.0.0-24'
const RANGE = { range: '10.10.0.0/24', gateway: '10.10.0.1' }

/** A store with one network of whereabouts, its Pods, and the program for operators. */
export class AdminWorld {
  readonly now = () => Date.UTC(2026, 0, 1)
  readonly store = memoryStore({ now: this.now, kinds: [...MODELS.map(({ info }) => info), LEASE] })
  readonly config = unwrap(readWhereaboutsConfig(configOf('whereabouts')))

  /** Makes the definition of the network, and its pool of blocks. */
  async prepare(): Promise<this> {
    const { apiVersion, kind } = NetworkAttachmentDefinition.info
    const metadata = { namespace: 'ns', name: 'lab' }
    await this.put({
      apiVersion,
      kind,
      metadata,
      spec: { config: JSON.stringify(configOf('whereabouts')) },
    } as KubeObject)
    for (const pool of unwrap(poolsOf({ config: this.config, pools: [] }))) await this.put(pool)
    await runUntilQuiet(this.store, [blocksOperator()], { now: this.now })
    return this
  }

  async put(object: KubeObject): Promise<void> {
    unwrap(await this.store.create(object))
  }

  /** Gives the definition of the network another IPAM type. */
  async setType(type: 'whereabouts' | 'ipam-kit'): Promise<void> {
    const { apiVersion, kind } = NetworkAttachmentDefinition.info
    const spec = { config: JSON.stringify(configOf(type)) }
    unwrap(await this.store.patch({ apiVersion, kind, namespace: 'ns', name: 'lab' }, { spec }))
  }

  /** A Pod that exists, gets an address and reports it. @returns the address */
  async start(name: string, on: 'pool' | 'blocks' = 'pool', namespace = 'ns'): Promise<string> {
    const { apiVersion, kind } = Pod.info
    const pod = unwrap(await this.store.create({ apiVersion, kind, metadata: { namespace, name } } as KubeObject))
    const of = { podNamespace: namespace, podName: name, containerId: `c-${name}`, ifname: 'net1' }
    const { config } = this
    const podUid = pod.metadata.uid
    const task =
      on === 'pool' ? dualAdd({ ...of, config }) : blockAdd({ ...of, podUid, network: { config, pools: [] } })
    const ended = await runTask(task, this.store, { now: this.now })
    if (ended.kind !== 'done' || ended.outcome.kind !== 'allocated') throw new Error(JSON.stringify(ended))
    const address = Address.format(ended.outcome.addresses[0]!.prefix.address)
    const status = JSON.stringify([{ name: 'ns/lab', interface: 'net1', ips: [address] }])
    const annotations = { [NETWORK_STATUS_ANNOTATION]: status }
    unwrap(await this.store.patch(podRef(name, namespace), { metadata: { annotations } }))
    return address
  }

  async end(name: string, namespace = 'ns'): Promise<void> {
    unwrap(await this.store.delete(podRef(name, namespace)))
  }

  /** The rows of pools and of blocks, and the reservations: each with its Pod. */
  async rows(): Promise<{ readonly pool: string[]; readonly reserved: string[]; readonly blocks: string[] }> {
    const listed = async ({ info }: { readonly info: { readonly apiVersion: string; readonly kind: string } }) =>
      unwrap(await this.store.list({ apiVersion: info.apiVersion, kind: info.kind })).items
    const pools = (await listed(IPPool)).flatMap((object) => readRows(IPPool.parse(object)).rows)
    const reserved = (await listed(OverlappingRangeIPReservation)).map((object) => {
      return `${object.metadata.name} ${OverlappingRangeIPReservation.parse(object).spec.podref}`
    })
    const blocks = (await listed(IPBlock)).flatMap((object) => {
      const { cidr, rows } = IPBlock.parse(object).spec
      const first = Address.parse(cidr.replace(/\/.*/, ''))
      return Object.entries(rows).flatMap(([unit, { owner, state }]) =>
        state === undefined ? [`${Address.format(Address.add(first, Number(unit)))} ${owner}`] : [],
      )
    })
    return { pool: pools.map(({ address, podref }) => `${Address.format(address)} ${podref}`), reserved, blocks }
  }

  /** Runs the program. */
  async run(line: string, store: Store = this.store) {
    const [out, errors]: [string[], string[]] = [[], []]
    const exit = await admin(line.split(' '), {
      env: {},
      open: async () => ({ store, close: async () => {} }),
      print: (text) => out.push(text),
      complain: (text) => errors.push(text),
      now: this.now,
    })
    return { exit, out: out.join('\n'), errors: errors.join('\n') }
  }
}

function configOf(type: 'whereabouts' | 'ipam-kit'): object {
  return { cniVersion: '1.0.0', name: 'lab', type: 'macvlan', ipam: { type, ...RANGE } }
}

function podRef(name: string, namespace = 'ns'): ObjectRef {
  const { apiVersion, kind } = Pod.info
  return { apiVersion, kind, namespace, name }
}
