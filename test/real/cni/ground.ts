import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Address, Prefix } from 'ipam-kit/cidr'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import type { JsonObject, KindInfo, KubeObject } from 'ipam-kit/crd/meta'
import { OverlappingRangeIPReservation, readRows, IPPool as WhereaboutsPool } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import { poolsOf, readBlockNetwork } from 'ipam-kit/provider/whereabouts-blocks'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { installKinds, openStore } from '../blocks/ground.js'
import { importClient } from '../servers/install.js'
import type { RealKubernetes } from '../servers/kubernetes.js'
import { startGround } from '../whereabouts/ground.js'
import type { StoredRow } from './runtime.js'

export const EXAMPLES = fileURLToPath(new URL('../../../docs/examples', import.meta.url))
const TWO_MINUTES = 120_000_000
const NETWORK = { range: '10.60.0.0/22', gateway: '10.60.0.1' }

export interface Ground {
  readonly server: RealKubernetes
  /** With all rights. */
  readonly store: Store
  stop(): Promise<void>
}

/** A control plane with the kinds of upstream and those of blocks, and the pool of the network. */
export async function startCniGround(): Promise<Ground> {
  const { server, admin } = await startGround()
  await installKinds(server)
  const { store } = await openStore('kubernetes', server.kubeconfig.path, importClient)
  const network = unwrap(readBlockNetwork({ cniVersion: '1.1.0', name: 'lab', ipam: { ...NETWORK, type: 'ipam-kit' } }))
  for (const pool of unwrap(poolsOf(network))) unwrap(await store.create(pool))
  await runUntilQuiet(store, [blocksOperator()], { now: Date.now })
  return {
    server,
    store,
    async stop() {
      admin.close()
      await server.stop()
    },
  }
}

/** `ipam` of a network in a file. */
export function ipamOfFile(sqlite: string): object {
  return { type: 'ipam-kit', ...NETWORK, sqlite }
}

/** `ipam` of a network, with the kubeconfig in it, as the plugin finds it. */
export function ipamOf(type: 'whereabouts' | 'ipam-kit', kubeconfig: string): object {
  return { type, ...NETWORK, kubernetes: { kubeconfig } }
}

/** A kubeconfig of a server that does not exist. */
export function awayIn(folder: string): object {
  return { kubernetes: { kubeconfig: plainKubeconfig(folder, 'https://127.0.0.1:1') } }
}

/** The file of a kubeconfig without credentials. */
export function plainKubeconfig(folder: string, server: string): string {
  const kubeconfig = join(folder, `${server.replace(/\W/g, '-')}.kubeconfig`)
  const part = (name: string, value: object) => [{ name: 'x', [name]: value }]
  const config = {
    clusters: part('cluster', { server }),
    contexts: part('context', { cluster: 'x', user: 'x' }),
    users: part('user', {}),
    'current-context': 'x',
  }
  writeFileSync(kubeconfig, JSON.stringify(config))
  return kubeconfig
}

/** The rows of upstream's objects. Each has to have its reservation, and no other one exists. */
export async function rowsOfObjects(store: Store): Promise<readonly StoredRow[]> {
  const pools = await listed(store, WhereaboutsPool.info)
  const rows = pools.flatMap((object) =>
    readRows(WhereaboutsPool.parse(object)).rows.map(({ address, id }) => {
      return { address: Address.format(address), container: id }
    }),
  )
  const reservations = await listed(store, OverlappingRangeIPReservation.info)
  const reserved = reservations.map(({ metadata }) => metadata.name).sort()
  const addresses = rows.map(({ address }) => address).sort()
  if (`${reserved}` !== `${addresses}`) throw new Error(`rows: ${addresses}; reservations: ${reserved}`)
  return rows
}

export async function loseObject(store: Store, container: string): Promise<void> {
  for (const object of await listed(store, WhereaboutsPool.info)) {
    const { allocations } = WhereaboutsPool.parse(object).spec
    const [key] = Object.entries(allocations).find(([, row]) => (row as { id: string }).id === container) ?? []
    if (key !== undefined) await merge(store, object, { spec: { allocations: { [key]: null } } })
  }
}

export async function rowsOfBlocks(store: Store): Promise<readonly StoredRow[]> {
  return (await listed(store, IPBlock.info)).flatMap((object) => {
    const { spec } = IPBlock.parse(object)
    const first = Prefix.first(Prefix.parse(spec.cidr))
    return Object.entries(spec.rows).flatMap(([unit, { state, container = '' }]) =>
      state === undefined ? [{ address: Address.format(Address.add(first, Number(unit))), container }] : [],
    )
  })
}

export async function loseBlockRow(store: Store, container: string): Promise<void> {
  for (const object of await listed(store, IPBlock.info)) {
    const { rows } = IPBlock.parse(object).spec
    const [unit] = Object.entries(rows).find(([, row]) => row.container === container) ?? []
    if (unit !== undefined) await merge(store, object, { spec: { rows: { [unit]: null } } })
  }
}

/** Sets the ADD of each row back by two minutes: its number is the time, in microseconds. */
export async function ageBlockRows(store: Store): Promise<void> {
  for (const object of await listed(store, IPBlock.info)) {
    const rows = Object.entries(IPBlock.parse(object).spec.rows)
    const earlier = rows.map(([unit, { sequence }]) => [unit, { sequence: sequence - TWO_MINUTES }])
    await merge(store, object, { spec: { rows: Object.fromEntries(earlier) } })
  }
}

async function listed(store: Store, { apiVersion, kind }: KindInfo): Promise<readonly KubeObject[]> {
  return unwrap(await store.list({ apiVersion, kind })).items
}

async function merge(store: Store, { apiVersion, kind, metadata }: KubeObject, changes: object): Promise<void> {
  const { namespace, name } = metadata
  unwrap(await store.patch({ apiVersion, kind, namespace, name }, changes as JsonObject))
}
