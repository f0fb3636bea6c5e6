import { Prefix } from 'ipam-kit/cidr'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { Plan } from 'ipam-kit/plan'
import { type NodeIPAMPlanner, nodeIPAM, planNodeIPAM } from 'ipam-kit/provider/node-ipam'
import { describe, expect, test } from 'vitest'
import { CLUSTER_CIDR_FINALIZER } from '../../../src/crd/node-ipam/names.js'
import { node, present, range } from './objects.js'

const TIME = { nowMs: 0 }

function plannerOf(...objects: readonly KubeObject[]): NodeIPAMPlanner {
  const planner = nodeIPAM()
  for (const object of objects) planner.observe(present(object))
  return planner
}

function planOf(planner: NodeIPAMPlanner, key: string): Plan {
  return planner.plan(key, TIME) as Plan
}

/** The reasons of the Events that a key leads to. */
function eventsOf(planner: NodeIPAMPlanner, key: string): readonly string[] {
  const plan = planOf(planner, key)
  planner.begin?.(plan)()
  return plan.effects.flatMap((effect) => (effect.kind === 'event' ? [effect.reason] : []))
}

const SMALL = { ipv4: '10.0.0.0/24' }
const bare = range('a', SMALL)
const withoutFinalizer = (version: string) => ({
  ...bare,
  metadata: { ...bare.metadata, finalizers: [], resourceVersion: version },
})

describe('a ClusterCIDR without its finalizer', () => {
  test('gives no subnets, and no Node is told that it gets none', () => {
    const planner = plannerOf(node('n1'), withoutFinalizer('1'))
    expect(planOf(planner, 'Node n1').outcome.kind).toBe('waiting')
    expect(eventsOf(planner, 'Node n1')).toEqual([])
  })

  test('gives subnets when it has it, and wakes the Nodes that wait', () => {
    const planner = plannerOf(node('n1'), withoutFinalizer('1'))
    planOf(planner, 'Node n1')
    expect(planner.observe(present(range('a', SMALL, { version: '2' })))).toContain('Node n1')
    expect(planOf(planner, 'Node n1').outcome.kind).toBe('assigned')
  })

  test('is waited for by the Nodes for which it is the first choice', () => {
    const wide = range('b', { ipv4: '10.1.0.0/16' })
    const planner = plannerOf(node('n1'), wide, withoutFinalizer('1'))
    expect(planOf(planner, 'Node n1').outcome.kind).toBe('waiting')
    planner.observe(present(range('a', SMALL, { version: '2' })))
    expect(planOf(planner, 'Node n1').outcome).toMatchObject({ choice: { range: 'a' } })
  })

  test('is planned by planNodeIPAM before the Nodes that get subnets of it', () => {
    const decisions = planNodeIPAM({ nodes: [node('n1')], clusterCIDRs: [withoutFinalizer('1')], nowMs: 0 })
    expect(decisions.map(({ key, plan }) => [key, plan.outcome.kind])).toEqual([
      ['ClusterCIDR a', 'active'],
      ['Node n1', 'assigned'],
    ])
    expect(decisions[0]?.plan.effects).toMatchObject([
      { kind: 'patch', patch: { metadata: { finalizers: [CLUSTER_CIDR_FINALIZER] } } },
    ])
  })
})

describe('subnets that were chosen for a Node which people gave others meanwhile', () => {
  const others = ['192.168.0.0/24']

  test('are free for the Nodes that wait, which are woken', () => {
    const planner = plannerOf(node('n1'), node('n2'), range('a', SMALL))
    const release = planner.begin?.(planOf(planner, 'Node n1'))
    expect(planOf(planner, 'Node n2').outcome.kind).toBe('waiting')
    planner.observe(present(node('n1', { podCIDRs: others, version: '2' })))
    expect(release?.()).toContain('Node n2')
    expect(planOf(planner, 'Node n2').outcome.kind).toBe('assigned')
  })

  test('keep no ClusterCIDR that is being deleted', () => {
    const planner = plannerOf(node('n1'), range('a', SMALL, { version: '1' }))
    const release = planner.begin?.(planOf(planner, 'Node n1'))
    planner.observe(present(range('a', SMALL, { version: '2', isDeleting: true })))
    expect(planOf(planner, 'ClusterCIDR a').outcome.kind).toBe('blocked')
    planner.observe(present(node('n1', { podCIDRs: others, version: '2' })))
    expect(release?.()).toContain('ClusterCIDR a')
    expect(planOf(planner, 'ClusterCIDR a').outcome.kind).toBe('released')
  })
})

test('a subnet that the API server refuses is tried again after all others', () => {
  const planner = plannerOf(node('n1'), range('a', { ipv4: '10.0.0.0/23' }))
  const tried = [1, 2, 3].map(() => {
    const plan = planOf(planner, 'Node n1')
    const [effect] = plan.effects
    planner.begin?.(plan)(false)
    planner.refused?.('Node n1', { effect: effect!, code: 'STORE_INVALID', message: 'no' }, TIME)
    return plan.outcome
  })
  expect(tried).toMatchObject(
    ['10.0.0.0/24', '10.0.1.0/24', '10.0.0.0/24'].map((text) => ({ choice: { subnets: [Prefix.parse(text)] } })),
  )
})

test('an Event of a plan that was not carried out is in the next plan as well', () => {
  const planner = plannerOf(node('n1'))
  for (let tries = 0; tries < 2; tries++) {
    const plan = planOf(planner, 'Node n1')
    expect(plan.effects).toMatchObject([{ kind: 'event', reason: 'CIDRNotAvailable' }])
    planner.begin?.(plan)(false)
  }
})

test('an object that has the name of one that was told the same is told again', () => {
  const planner = plannerOf(node('n1', { uid: 'first' }))
  expect(eventsOf(planner, 'Node n1')).toEqual(['CIDRNotAvailable'])
  expect(eventsOf(planner, 'Node n1')).toEqual([])
  planner.reset()
  planner.observe(present(node('n1', { uid: 'first' })))
  expect(eventsOf(planner, 'Node n1')).toEqual([])
  planner.reset()
  planner.observe(present(node('n1', { uid: 'second' })))
  expect(eventsOf(planner, 'Node n1')).toEqual(['CIDRNotAvailable'])
})
