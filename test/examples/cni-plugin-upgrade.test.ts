import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { unwrap } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'
import { blocksBackend } from '../../docs/examples/cni-plugin/backend-blocks.js'
import { whereaboutsBackend } from '../../docs/examples/cni-plugin/backend-whereabouts.js'
import { SharedServers } from '../../docs/examples/cni-plugin/shared-servers.js'
import { DualWorld } from '../provider/whereabouts-blocks/dual-world.js'

const IPAM = { range: '10.0.0.0/29' }
const POOL = '10.0.0.0-29'
const A = '10.0.0.1 ns/a c1/net1'
const PLACE = { namespace: undefined, nodeName: 'n1' }
const CONTAINER = { containerId: 'c1', ifname: 'net1', podNamespace: 'ns', podName: 'a', podUid: 'uid-a' }

function backendOf(type: 'whereabouts' | 'ipam-kit') {
  const raw = { cniVersion: '1.1.0', name: 'lab', type: 'macvlan', ipam: { type, ...IPAM } }
  const make = type === 'whereabouts' ? whereaboutsBackend : blocksBackend
  return unwrap(make({ raw, ipam: raw.ipam } as never, { use: 'allocate', args: {} }))
}

describe('the type whereabouts', () => {
  test('costs three requests for a pool that is not upgraded', async () => {
    const world = await new DualWorld().pool(IPAM.range, null)
    expect((await world.run(backendOf('whereabouts').add(CONTAINER, PLACE))).kind).toBe('allocated')
    expect(world.requests).toHaveLength(3)
    expect(await world.oldRows()).toEqual([A])
  })

  test('keeps the rows of the pool and of the blocks equal while it is upgraded', async () => {
    const world = await new DualWorld().prepare(IPAM)
    await world.pool(IPAM.range, 'dual-write')
    const { add, del, check, gc, status, kinds } = backendOf('whereabouts')
    await world.run(add(CONTAINER, PLACE))
    expect([await world.oldRows(), await world.blockRows()]).toEqual([[A], [A]])
    await world.setPhase(POOL, 'blocks')
    expect((await world.run(status(PLACE))).kind).toBe('ready')
    await world.setRows(POOL, { '1': null })
    expect((await world.run(check(CONTAINER, PLACE))).kind).toBe('present')
    const record = [{ containerId: 'c1', ifname: 'net1', network: 'lab', addedMs: 0 }]
    world.nowMs += 120_000
    expect(await world.run(gc({ valid: [], record }, PLACE))).toMatchObject({ kind: 'collected' })
    expect(await world.blockRows()).toEqual([])
    await world.run(add(CONTAINER, PLACE))
    expect((await world.run(del(CONTAINER, PLACE))).kind).toBe('released')
    expect([await world.oldRows(), await world.blockRows()]).toEqual([[], []])
    const names = kinds.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`)
    expect(new Set(names).size).toBe(names.length)
    for (const request of world.requests) expect(kinds.map(({ kind }) => kind)).toContain(request.split(' ')[1])
  })

  test('starts no watch of blocks in a daemon', async () => {
    const asked: string[] = []
    const server = createServer(({ url = '' }, response) => {
      asked.push(url)
      response.writeHead(403).end('{}')
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-upgrade-'))
    const kubeconfig = join(folder, 'kubeconfig')
    const cluster = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
    const config = {
      clusters: [{ name: 'a', cluster }],
      users: [{ name: 'a', user: { token: 'secret' } }],
      contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
      'current-context': 'a',
    }
    writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 })
    const servers = new SharedServers(() => {})
    await servers.open(kubeconfig, backendOf('whereabouts').kinds)
    await sleep(100)
    expect(asked).toEqual([])
    await servers.open(kubeconfig, backendOf('ipam-kit').kinds)
    await sleep(100)
    expect(asked.length).toBeGreaterThan(0)
    await servers.stop()
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true })
  })
})
