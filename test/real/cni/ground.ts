import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Address, Prefix } from 'ipam-kit/cidr'
import { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import { blocksOperator } from 'ipam-kit/provider/blocks'
import { poolsOf, readBlockNetwork } from 'ipam-kit/provider/whereabouts-blocks'
import { runUntilQuiet } from 'ipam-kit/run'
import { installKinds, openStore } from '../blocks/ground.js'
import type { Client } from '../controller/client.js'
import { importClient } from '../servers/install.js'
import type { RealKubernetes } from '../servers/kubernetes.js'
import { POOLS, RESERVATIONS, startGround, storedRows } from '../whereabouts/ground.js'
import type { StoredRow } from './runtime.js'

const NETWORK = { range: '10.60.0.0/22', gateway: '10.60.0.1' }
const BLOCKS = `/apis/${IPBlock.info.apiVersion}/${IPBlock.info.plural}`

export interface Ground {
  readonly server: RealKubernetes
  readonly admin: Client
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
    admin,
    async stop() {
      admin.close()
      await server.stop()
    },
  }
}

/** `ipam` of a network, with the kubeconfig in it, as the plugin finds it. */
export function ipamOf(type: 'whereabouts' | 'ipam-kit', kubeconfig: string): object {
  return { type, ...NETWORK, kubernetes: { kubeconfig } }
}

/** A kubeconfig of a server that does not exist. */
export function awayIn(folder: string): object {
  const kubeconfig = join(folder, 'away.kubeconfig')
  const part = (name: string, value: object) => [{ name: 'x', [name]: value }]
  const config = {
    clusters: part('cluster', { server: 'https://127.0.0.1:1' }),
    contexts: part('context', { cluster: 'x', user: 'x' }),
    users: part('user', {}),
    'current-context': 'x',
  }
  writeFileSync(kubeconfig, JSON.stringify(config))
  return { kubernetes: { kubeconfig } }
}

/** The rows of upstream's objects. Each has to have its reservation, and no other one exists. */
export async function rowsOfObjects(admin: Client): Promise<readonly StoredRow[]> {
  const rows = (await storedRows(admin)).map(({ address, id }) => ({ address, container: id }))
  const reserved = (await admin.list(RESERVATIONS)).map(({ metadata }) => metadata.name).sort()
  const addresses = rows.map(({ address }) => address).sort()
  if (`${reserved}` !== `${addresses}`) throw new Error(`rows: ${addresses}; reservations: ${reserved}`)
  return rows
}

export async function loseObject(admin: Client, container: string): Promise<void> {
  for (const { metadata, ...pool } of await admin.list(POOLS)) {
    const { allocations } = (pool as unknown as { readonly spec: { readonly allocations: object } }).spec
    for (const [key, row] of Object.entries(allocations) as [string, { readonly id: string }][]) {
      if (row.id !== container) continue
      const body = { spec: { allocations: { [key]: null } } }
      await admin.send('PATCH', `${POOLS}/${metadata.name}`, { body, patch: 'merge' })
    }
  }
}

export async function rowsOfBlocks(admin: Client): Promise<readonly StoredRow[]> {
  return (await admin.list(BLOCKS)).flatMap((object) => {
    const { spec } = IPBlock.parse(object)
    const first = Prefix.first(Prefix.parse(spec.cidr))
    return Object.entries(spec.rows).flatMap(([unit, { state, container = '' }]) =>
      state === undefined ? [{ address: Address.format(Address.add(first, Number(unit))), container }] : [],
    )
  })
}

export async function loseBlockRow(admin: Client, container: string): Promise<void> {
  for (const { metadata, ...block } of await admin.list(BLOCKS)) {
    const { rows } = (block as unknown as { readonly spec: { readonly rows: object } }).spec
    for (const [unit, row] of Object.entries(rows) as [string, { readonly container: string }][]) {
      if (row.container !== container) continue
      const body = { spec: { rows: { [unit]: null } } }
      await admin.send('PATCH', `${BLOCKS}/${metadata.name}`, { body, patch: 'merge' })
    }
  }
}
