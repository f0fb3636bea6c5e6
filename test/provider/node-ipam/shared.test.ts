import { Prefix } from 'ipam-kit/cidr'
import { ClusterNetwork, SubnetReservations } from 'ipam-kit/crd/ipam-kit'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { describe, expect, test } from 'vitest'
import { absent, node, present, range } from './objects.js'

const TIME = { nowMs: Date.parse('2026-01-01T01:00:00Z') }
const entry = { node: 'n1', uid: 'uid n1', podCIDRs: ['10.0.0.0/24'], by: 'other' }

const FINALIZERS = ['ipam-kit.dev/reservations']

function reservations(version: string, entries: readonly object[], spec: object = {}, traits: object = {}) {
  const { apiVersion, kind } = SubnetReservations.info
  const metadata = { name: 'node-ipam', uid: 'r', resourceVersion: version, finalizers: FINALIZERS, ...traits }
  return present({ apiVersion, kind, metadata, spec: { entries, ...spec } } as never)
}

describe('several controllers', () => {
  test('a ClusterCIDR that is being deleted is kept for an entry, and woken when the entry is removed', () => {
    const planner = nodeIPAM({ shared: { identity: 'own' } })
    planner.observe(present(node('n1')))
    planner.observe(present(range('a', { ipv4: '10.0.0.0/16' }, { isDeleting: true })))
    planner.observe(reservations('1', [entry], { ended: ['uid a'] }))
    expect(planner.plan('ClusterCIDR a', TIME)?.outcome).toMatchObject({ kind: 'blocked', nodes: ['n1'] })
    expect(planner.observe(reservations('2', [], { ended: ['uid a'] }))).toContain('ClusterCIDR a')
    expect(planner.plan('ClusterCIDR a', TIME)?.outcome.kind).toBe('released')
  })

  test('a ClusterCIDR that is being deleted ends when the entries say so, and all Nodes that had one are known', () => {
    const planner = nodeIPAM({ shared: { identity: 'own' } })
    planner.observe(reservations('1', []))
    planner.observe(present(range('a', { ipv4: '10.0.0.0/16' }, { isDeleting: true })))
    expect(planner.plan('ClusterCIDR a', TIME)).toMatchObject({ outcome: { kind: 'blocked' }, effects: [] })
    expect(planner.plan('SubnetReservations node-ipam', TIME)?.effects).toMatchObject([
      { patch: { spec: { entries: [], ended: ['uid a'] } } },
    ])
    expect(planner.observe(reservations('2', [], { ended: ['uid a'], nodesVersion: '9' }))).toContain('ClusterCIDR a')
    expect(planner.plan('ClusterCIDR a', TIME)).toMatchObject({ outcome: { kind: 'blocked' }, requeueAfterSeconds: 1 })
    planner.observe(reservations('3', [], { ended: ['uid a'] }))
    expect(planner.plan('ClusterCIDR a', TIME)?.outcome.kind).toBe('released')
  })

  test('a range that the entries call ended gives nothing, also where its deletion is not known yet; one of its name does', () => {
    const planner = nodeIPAM({ shared: { identity: 'own' } })
    planner.observe(present(node('n1')))
    planner.observe(present(range('a', { ipv4: '10.0.0.0/16' })))
    planner.observe(reservations('1', [], { ended: ['uid a'] }))
    const choices = () => planner.plan('SubnetReservations node-ipam', TIME)?.outcome
    expect(choices()?.kind).toBe('reserved')
    planner.observe(present(range('a', { ipv4: '10.0.0.0/16' }, { uid: 'uid another' })))
    expect(choices()).toMatchObject({ kind: 'reserving', choices: [{ node: 'n1' }] })
  })

  test('ranges that were ended before stay named as long as there is room', () => {
    const planner = nodeIPAM({ shared: { identity: 'own' } })
    planner.observe(present(range('a', { ipv4: '10.0.0.0/16' }, { isDeleting: true })))
    const ended = Array.from({ length: 128 }, (_, nth) => `gone ${nth}`)
    planner.observe(reservations('1', [], { ended }))
    expect(planner.plan('SubnetReservations node-ipam', TIME)?.effects).toMatchObject([
      { patch: { spec: { ended: ['uid a', ...ended.slice(0, 127)] } } },
    ])
  })

  test('the entries have a finalizer: deleted by hand they stay, and continue to serve', () => {
    const planner = nodeIPAM({ shared: { identity: 'own' } })
    planner.observe(present(node('n1')))
    planner.observe(present(range('a', { ipv4: '10.0.0.0/16' })))
    const plan = () => planner.plan('SubnetReservations node-ipam', TIME)
    expect(plan()?.effects).toMatchObject([{ kind: 'create', object: { metadata: { finalizers: FINALIZERS } } }])
    planner.observe(reservations('1', [], {}, { finalizers: ['example.com/own'] }))
    expect(plan()?.effects).toMatchObject([{ patch: { metadata: { finalizers: ['example.com/own', ...FINALIZERS] } } }])
    planner.observe(reservations('2', [], {}, { deletionTimestamp: '2026-01-01T00:00:00Z' }))
    expect(plan()?.outcome.kind).toBe('reserving')
    planner.observe(reservations('3', [], {}, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x'] }))
    expect(plan()).toMatchObject({ outcome: { kind: 'unreadable' }, effects: [] })
  })

  test('an entry whose subnet people have given to another Node is not carried out, until that one is deleted', () => {
    const planner = nodeIPAM({ shared: { identity: 'own' } })
    planner.observe(present(range('a', { ipv4: '10.0.0.0/16' })))
    planner.observe(present(node('n1')))
    planner.observe(reservations('1', [{ ...entry, by: 'own' }]))
    const other = node('n2', { podCIDRs: ['10.0.0.0/24'] })
    expect(planner.observe(present(other))).toContain('Node n1')
    const plan = planner.plan('Node n1', TIME)!
    expect(plan).toMatchObject({ outcome: { kind: 'conflict' }, effects: [{ kind: 'event', reason: 'CIDRConflict' }] })
    expect(plan.outcome.message).toMatch(/^Node n1: 10\.0\.0\.0\/24 overlaps 10\.0\.0\.0\/24 of Node n2/)
    expect(planner.observe(absent(other))).toContain('Node n1')
    expect(planner.plan('Node n1', TIME)?.effects).toMatchObject([{ kind: 'patch', if: { uid: 'uid n1' } }])
  })

  test('an entry whose subnet has become a part of a service range is not carried out, until that one is deleted', () => {
    const planner = nodeIPAM({ shared: { identity: 'own' }, watchServiceCIDRs: true })
    planner.observe(present(range('a', { ipv4: '10.0.0.0/16' })))
    planner.observe(present(node('n1')))
    planner.observe(reservations('1', [{ ...entry, by: 'own' }]))
    const services = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'ServiceCIDR',
      metadata: { name: 'kubernetes', uid: 's', resourceVersion: '1' },
      spec: { cidrs: ['10.0.0.0/20'] },
    } as const
    expect(planner.observe(present(services as never))).toContain('Node n1')
    const plan = planner.plan('Node n1', TIME)!
    expect(plan).toMatchObject({ outcome: { kind: 'conflict' }, effects: [{ kind: 'event', reason: 'CIDRConflict' }] })
    expect(planner.observe(absent(services as never))).toContain('Node n1')
    expect(planner.plan('Node n1', TIME)?.effects).toMatchObject([{ kind: 'patch', if: { uid: 'uid n1' } }])
  })

  test('an entry of another controller is left to it for a while, and then carried out', () => {
    const planner = nodeIPAM({ shared: { identity: 'own', takeOverSeconds: 5 } })
    planner.observe(present(node('n1')))
    planner.observe(reservations('1', [entry]))
    expect(planner.plan('Node n1', TIME)).toMatchObject({ outcome: { kind: 'waiting' }, requeueAfterSeconds: 5 })
    const later = { nowMs: TIME.nowMs + 5000 }
    expect(planner.plan('Node n1', later)?.effects).toMatchObject([{ kind: 'patch', if: { uid: 'uid n1' } }])
  })

  test('an entry of an earlier Node of the name gives nothing', () => {
    const planner = nodeIPAM({ shared: { identity: 'own' } })
    planner.observe(present(node('n1', { uid: 'another' })))
    planner.observe(reservations('1', [{ ...entry, by: 'own' }]))
    expect(planner.plan('Node n1', TIME)?.effects).toMatchObject([{ kind: 'event', reason: 'CIDRNotAvailable' }])
  })

  test('an entry that is changed counts as it is now', () => {
    const planner = nodeIPAM({ shared: { identity: 'own' } })
    planner.observe(present(node('n1')))
    planner.observe(reservations('1', [{ ...entry, by: 'own' }]))
    planner.observe(reservations('2', [{ ...entry, podCIDRs: ['10.0.7.0/24'], by: 'own' }]))
    expect(planner.plan('Node n1', TIME)?.effects).toMatchObject([{ patch: [{ value: '10.0.7.0/24' }, {}] }])
    expect(planner.entries().map(({ prefix }) => Prefix.format(prefix))).toEqual(['10.0.7.0/24'])
  })

  test('a ClusterNetwork that opens a range wakes the entries, and until then a Node is told why it waits', () => {
    const planner = nodeIPAM({ shared: { identity: 'own' }, network: 'pods' })
    planner.observe(present(node('n1')))
    planner.observe(present(range('a', { ipv4: '10.0.0.0/16' })))
    expect(planner.plan('Node n1', TIME)?.outcome.message).toContain('not Active in the ClusterNetwork: a')
    const ranges = [
      {
        cidr: '10.0.0.0/16',
        state: 'Active',
        source: { kind: 'ClusterCIDR', name: 'a' },
        proposedAt: '2026-01-01T00:00:00Z',
      },
    ]
    const metadata = { name: 'pods', uid: 'p', resourceVersion: '1' }
    const { apiVersion, kind } = ClusterNetwork.info
    const opened = present({ apiVersion, kind, metadata, spec: {}, status: { ranges } } as never)
    expect(planner.observe(opened)).toEqual(['Node n1', 'SubnetReservations node-ipam'])
  })

  test('a version that is no number stops all entries, and says so', () => {
    const planner = nodeIPAM({ shared: { identity: 'own' } })
    planner.observe(present(node('n1')))
    const { apiVersion, kind } = SubnetReservations.info
    const metadata = { name: 'node-ipam', uid: 'r', resourceVersion: '1' }
    planner.observe(present({ apiVersion, kind, metadata, spec: { entries: [], nodesVersion: 'x' } } as never))
    expect(planner.plan('SubnetReservations node-ipam', TIME)).toMatchObject({
      outcome: { kind: 'unreadable' },
      effects: [],
    })
  })

  test('an entry that cannot be read gives nothing, and stops nothing', () => {
    const planner = nodeIPAM({ shared: { identity: 'own' } })
    planner.observe(present(node('n1')))
    planner.observe(reservations('1', [{ ...entry, podCIDRs: ['nonsense'], by: 'own' }]))
    expect(planner.plan('Node n1', TIME)).toMatchObject({ outcome: { kind: 'failed' }, effects: [] })
  })

  test.each([[''], [undefined]])('an identity %s is refused', (identity) => {
    expect(() => nodeIPAM({ shared: { identity: identity as string } })).toThrow('shared.identity')
  })
})
