import type { KubeObject } from 'ipam-kit/crd/meta'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { describe, expect, test } from 'vitest'
import { Host } from './host.js'
import { node, present, range, selects } from './objects.js'

const small = range('a', { ipv4: '10.0.0.0/24' })

describe('Events', () => {
  test('a Node that waits is told of once, not at each try', () => {
    const host = new Host().put(small, node('n1'), node('n2'))
    for (let i = 0; i < 5; i++) host.retry('Node n2')
    expect(host.told).toEqual(['n2 CIDRNotAvailable'])
    expect(host.events[0]).toMatchObject({
      about: { kind: 'Node', name: 'n2' },
      uid: 'uid n2',
      type: 'Warning',
      message:
        'no free subnets for Node n2 in a (10.0.0.0/24 in /24, all of it in 10.0.0.0/24 of Node n1; subnets in all: 1)',
    })
  })

  test('a cause that is another one is told, and one that comes back as well', () => {
    const host = new Host().put(node('n1'))
    host.put(small, node('n2'))
    expect(host.told).toEqual(['n1 CIDRNotAvailable', 'n2 CIDRNotAvailable'])
    // n2 waits because no range is for it, and then because none has free subnets, as before
    host.delete('ClusterCIDR a').put({ ...small, metadata: { ...small.metadata, uid: 'a2' } })
    expect(host.told.filter((each) => each === 'n2 CIDRNotAvailable')).toHaveLength(3)
  })

  test('a Node that waits is told of once, however many full ranges are added', () => {
    const host = new Host().put(small, node('n1'), node('n2'))
    for (let i = 0; i < 20; i++) host.put(range(`b${i}`, { ipv4: '10.0.0.0/24', perNodeHostBits: 7 }))
    expect(host.told).toEqual(['n2 CIDRNotAvailable'])
    const { message } = host.outcome('Node n2') ?? {}
    expect(message).toMatch(/^no free subnets for Node n2 in a .*, b0 .*, and more$/)
  })

  test('a Node that waits is told of once, however often a range loses and gets its finalizer', () => {
    const full = range('b', { ipv4: '10.0.0.0/24' })
    const host = new Host().put(small, node('n1'), node('n2'))
    for (let i = 0; i < 5; i++) host.put({ ...full, metadata: { name: 'b', uid: `b${i}` } }, full)
    expect(host.told).toEqual(['n2 CIDRNotAvailable'])
  })

  test('a Node waits in silence only for a range that is for it and is to get its finalizer first', () => {
    const reasons = (zone: string) => {
      const planner = nodeIPAM()
      planner.observe(present(node('n1', { labels: { zone: 'a' } })))
      const fresh = range('fresh', { ipv4: '10.0.0.0/24', nodeSelector: selects({ zone }) })
      planner.observe(present({ ...fresh, metadata: { name: 'fresh', uid: 'f' } }))
      return planner.plan('Node n1', { nowMs: 0 })?.effects.map((effect) => effect.kind === 'event' && effect.reason)
    }
    expect([reasons('a'), reasons('b')]).toEqual([[], ['CIDRNotAvailable']])
  })

  test('a conflict that has ended and comes back is told again', () => {
    const host = new Host().put(small, node('n1', { podCIDRs: ['10.0.0.0/24'] }))
    for (const uid of ['u1', 'u2']) {
      host.put(node('n2', { podCIDRs: ['10.0.0.0/24'], uid }))
      host.delete('Node n2')
    }
    expect(host.told).toEqual(['n2 CIDRConflict', 'n1 CIDRConflict', 'n2 CIDRConflict', 'n1 CIDRConflict'])
  })

  test.each([
    [
      'that come one after the other',
      (host: Host, nodes: readonly KubeObject[]) => nodes.map((each) => host.put(each)),
    ],
    ['that are there at the start', (host: Host, nodes: readonly KubeObject[]) => host.put(...nodes).restart()],
  ])('N Nodes with one podCIDR, %s, are N Events and O(N) plans', (_, act) => {
    const nodes = Array.from({ length: 50 }, (_, i) => node(`n${i}`, { podCIDRs: ['10.0.0.0/24'] }))
    const host = new Host().put(small)
    act(host, nodes)
    const before = host.told.length === nodes.length ? 0 : nodes.length
    expect(host.told.slice(before).toSorted()).toEqual(
      nodes.map(({ metadata }) => `${metadata.name} CIDRConflict`).sort(),
    )
    expect(host.planned).toBeLessThanOrEqual(4 * nodes.length)
    for (const { message } of host.events) {
      expect(message).not.toMatch(/\d more/)
      expect(message.length).toBeLessThan(300)
    }
    // the last two are in conflict until one of them is deleted, and only the last one is planned for it
    for (const { metadata } of nodes.slice(2)) host.delete(`Node ${metadata.name}`)
    const { planned } = host
    expect([host.outcome('Node n0')?.kind, host.outcome('Node n1')?.kind]).toEqual(['conflict', 'conflict'])
    host.delete('Node n1')
    expect([host.outcome('Node n0')?.kind, host.planned - planned]).toEqual(['ready', 1])
  })

  test('a wide subnet over those of many Nodes is one Event for each of them', () => {
    const names = Array.from({ length: 30 }, (_, i) => `n${i}`)
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/16' }), ...names.map((name) => node(name)))
    for (const name of ['wide', 'wider', 'widest']) host.put(node(name, { podCIDRs: ['10.0.0.0/16'] }))
    expect(host.told.toSorted()).toEqual(
      [...names, 'wide', 'wider', 'widest'].map((name) => `${name} CIDRConflict`).sort(),
    )
    host.delete('Node wide').delete('Node wider').delete('Node widest')
    expect(names.map((name) => host.outcome(`Node ${name}`)?.kind)).toEqual(names.map(() => 'ready'))
  })

  test('each subnet in conflict is told of once', () => {
    const both = ['10.0.0.0/24', 'fd00::/64']
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/16', ipv6: 'fd00::/48' }), node('n1', { podCIDRs: both }))
    host.put(node('n2', { podCIDRs: ['10.0.0.0/24', 'fd00:0:0:1::/64'] }))
    host.put(node('n3', { podCIDRs: ['10.0.1.0/24', 'fd00::/64'] }))
    const told = host.events.map(({ about, message }) => `${about.name}: ${message.split(' ')[2]}`)
    expect(told.toSorted()).toEqual(['n1: 10.0.0.0/24', 'n1: fd00::/64', 'n2: 10.0.0.0/24', 'n3: fd00::/64'])
  })

  test('two causes of one Node are two Events', () => {
    const host = new Host().put(small, node('n1', { podCIDRs: ['10.9.0.0/24'] }))
    host.put(node('n2', { podCIDRs: ['10.9.0.0/24'] }))
    for (let i = 0; i < 3; i++) host.retry('Node n1').retry('Node n2')
    expect(host.told).toEqual(['n1 CIDRNotOwned', 'n2 CIDRConflict', 'n2 CIDRNotOwned', 'n1 CIDRConflict'])
  })

  test('another Node of the same name is told of for itself', () => {
    const host = new Host().put(node('n1', { uid: 'u1' }))
    // its deletion was not seen
    host.put(node('n1', { uid: 'u2' }))
    expect(host.events.map(({ uid }) => uid)).toEqual(['u1', 'u2'])
  })

  test('what the API server refuses is told once, whatever it says of the subnets of each try', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/22' }))
    host.refusal = 'could not patch Node n1: spec.podCIDRs: 10.0.0.0/24 is not liked'
    host.put(node('n1'))
    host.refusal = 'could not patch Node n1: spec.podCIDRs: 10.0.1.0/24 is not liked'
    for (let i = 0; i < 3; i++) host.retry('Node n1')
    expect(host.told).toEqual(['n1 CIDRAssignmentFailed'])
    host.refusal = undefined
    expect(host.retry('Node n1').subnets.n1).toBeDefined()
    expect(host.outcome('Node n1')?.kind).toBe('ready')
  })

  test('after a restart what is still wrong is told once more', () => {
    const host = new Host().put(small, node('n1'), node('n2')).restart().retry('Node n2')
    expect(host.told).toEqual(['n2 CIDRNotAvailable', 'n2 CIDRNotAvailable'])
  })
})

describe('what wakes Nodes', () => {
  test('patches that are refused wake no Node whose patches are refused as well', () => {
    const host = new Host().put(range('a', { ipv4: '10.0.0.0/22' }))
    host.refusal = 'no'
    const { planned } = host
    host.put(node('n1'), node('n2'), node('n3'))
    expect(host.planned - planned).toBe(3)
  })

  test('a patch that is refused wakes a Node for which nothing was free meanwhile', () => {
    const { planner } = new Host().put(small)
    for (const name of ['n1', 'n2']) planner.observe(present(node(name)))
    const release = planner.begin!(planner.plan('Node n1', { nowMs: 0 })!)
    expect(planner.plan('Node n2', { nowMs: 0 })?.outcome.kind).toBe('waiting')
    expect(release()).toEqual(['Node n2'])
    expect(planner.plan('Node n2', { nowMs: 0 })?.outcome.kind).toBe('assigned')
  })

  test('a heartbeat costs no plan: not of a Node with subnets, nor of one that waits', () => {
    const host = new Host().put(small, node('n1'), node('n2'))
    const { planned } = host
    for (let beat = 0; beat < 100; beat++) {
      for (const name of ['n1', 'n2']) {
        const stored = host.objects.get(`Node ${name}`)!
        const metadata = { ...stored.metadata, annotations: { beat: `${beat}` }, managedFields: [{ time: beat }] }
        host.put({ ...stored, metadata, status: { conditions: [{ type: 'Ready', lastHeartbeatTime: beat }] } })
      }
    }
    expect(host.planned - planned).toBe(0)
  })

  test('of a Node only what is read is remembered', () => {
    const host = new Host()
    const whole = { ...node('n1', { labels: { zone: 'a' } }), status: { images: ['x'.repeat(20_000)] } }
    host.put({ ...whole, metadata: { ...whole.metadata, annotations: { long: 'y'.repeat(20_000) } } })
    const { object } = host.planner.context.cache.nodes.entry('n1')!
    expect(JSON.stringify(object).length).toBeLessThan(300)
  })

  test.each<readonly [string, (host: Host) => unknown]>([
    ['a released subnet', (host) => host.delete('Node n1')],
    ['a new range', (host) => host.put(range('b', { ipv4: '10.1.0.0/24' }))],
    ['other labels', (host) => host.change('Node n2', { labels: { zone: 'c' } })],
  ])('%s wakes a Node that waits', (_, act) => {
    const host = new Host().put(range('c', { ipv4: '10.2.0.0/24', nodeSelector: selects({ zone: 'c' }) }))
    host.put(small, node('n1'), node('n2'))
    expect(host.subnets.n2).toBeUndefined()
    act(host)
    expect(host.subnets.n2).toBeDefined()
  })
})
