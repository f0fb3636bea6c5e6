// A process that gives addresses as whereabouts does, without what that does beside: no lease, no
// list of all pools, no object for each address. After a conflict it waits a little, which that
// does not.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '../../../test/real/controller/client.js'
import type { KubeAccess } from '../../../test/real/servers/kube-api.js'
import { type Cost, INTERFACE, type Pod, work } from '../worker.js'
import { POOLS, type SingleObjectPool } from './pool.js'

const LAST_OFFSET = 2 ** 14 - 2
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 1000
const REFUSED = [409, 422]

const [access] = process.argv.slice(2) as [string]
const client = new Client(JSON.parse(readFileSync(access, 'utf8')) as KubeAccess, 1)
await work(add)

async function add(pool: string, pod: Pod): Promise<Cost> {
  const path = `${POOLS}/${pool}`
  for (let conflicts = 0; ; conflicts++) {
    const { metadata, spec } = await client.send<SingleObjectPool>('GET', path)
    const offset = lowestFree(spec.allocations)
    const row = { id: pod.container, podref: pod.name, ifname: INTERFACE }
    const body = [
      { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      { op: 'add', path: `/spec/allocations/${offset}`, value: row },
    ]
    const { code } = await client.send<{ code?: number }>('PATCH', path, { body, patch: 'json', also: REFUSED })
    if (code === undefined) return { requests: 2 * (conflicts + 1), conflicts }
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** conflicts)
    await sleep(longest * Math.random())
  }
}

function lowestFree(allocations: SingleObjectPool['spec']['allocations']): number {
  for (let offset = 1; offset <= LAST_OFFSET; offset++) if (!(offset in allocations)) return offset
  throw new Error('the pool is full')
}
