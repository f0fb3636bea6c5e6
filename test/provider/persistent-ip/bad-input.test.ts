// Input of tenants that is wrong, each beside a machine that is right. Other tests have the rest:
//
// - claims of addresses that are no text of one, and of others outside: T8 in persistent-ips.test.ts
// - definitions with a config that is refused, by rule: network.test.ts
// - networks of a machine whose names become the same: T6 in workload/planner.test.ts
// - reviews without an object, of any shape: test/provider/webhook/answer.test.ts
import { VirtualMachineInstance } from 'ipam-kit/crd/kubevirt'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { unwrap } from 'ipam-kit/errors'
import { vmPodRule, workloadPodRule } from 'ipam-kit/provider/persistent-ip'
import { answerReview } from 'ipam-kit/provider/webhook'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import { instance, machine, nad } from './objects.js'
import { claimOf, LEDGERS, ovnNad, podIn, ServingWorld } from './serving-world.js'
import { World } from './workload/world.js'

const NETWORKS = 'k8s.v1.cni.cncf.io/networks'

function selecting(selection: string | readonly object[]): KubeObject {
  const text = typeof selection === 'string' ? selection : JSON.stringify(selection)
  return podIn('bad', [], { annotations: { [NETWORKS]: text } })
}

function naming(claim: string): readonly object[] {
  return [{ name: 'blue', 'ipam-claim-reference': claim }]
}

const MANY = Array.from({ length: 1000 }, (_, index) => `other-${index}`)

interface Said {
  /** The outcome of this key, and a part of its message. */
  readonly of: 'Pod ns1/bad' | 'IPAMClaim ns1/bad'
  readonly outcome: string
  readonly message: string
  /** The Events, each once. */
  readonly events: readonly string[]
  /** The reason of the condition of the claim. */
  readonly condition?: string
  readonly has?: readonly string[]
}

const POD = { of: 'Pod ns1/bad' } as const
const SELECTIONS: readonly (readonly [string, KubeObject, Said])[] = [
  ...(['[{"name":"blue"}],green', 'blue,{"name":"green"}'] as const).map((text) => {
    const said = { ...POD, outcome: 'unreadable', message: 'is not JSON', events: ['Pod bad UnreadableObject'] }
    return [`both forms mixed: ${text}`, selecting(text), said] as const
  }),
  [
    'fields that are not known',
    selecting([{ name: 'blue', later: { deep: [1] } }]),
    { ...POD, outcome: 'served', message: 'has its addresses', events: [], has: ['10.0.0.2/29'] },
  ],
  [
    '1,000 elements of which one has a definition',
    selecting([...MANY, 'blue'].join()),
    {
      ...{ ...POD, outcome: 'waiting', message: '; 992 more problems', has: ['10.0.0.2/29'] },
      events: ['Pod bad NetworkNotReady'],
    },
  ],
  [
    '1,000 elements of one network with few addresses',
    selecting(MANY.map(() => 'blue').join()),
    {
      ...{ ...POD, outcome: 'refused SubnetExhausted', message: 'the network lab has no free' },
      ...{ events: ['Pod bad SubnetExhausted'] },
    },
  ],
  [
    'two elements with one interface name',
    selecting([
      { name: 'blue', interface: 'net1' },
      { name: 'blue', interface: 'net1' },
    ]),
    { ...POD, outcome: 'served', message: '', events: [], has: ['10.0.0.2/29', '10.0.0.3/29'] },
  ],
  [
    'a claim whose name has a slash',
    selecting(naming('ns1/vm1.blue')),
    { ...POD, outcome: 'unreadable', message: 'ipam-claim-reference: must be', events: ['Pod bad UnreadableObject'] },
  ],
  [
    'a claim whose name is empty',
    selecting(naming('')),
    { ...POD, outcome: 'served', message: '', events: [], has: ['10.0.0.2/29'] },
  ],
  [
    'a claim whose name has 300 characters',
    selecting(naming('a'.repeat(300))),
    { ...POD, outcome: 'unreadable', message: 'ipam-claim-reference', events: ['Pod bad UnreadableObject'] },
  ],
]

const CLAIM = { of: 'IPAMClaim ns1/bad' } as const
const refusedBy = (reason: string, message: string): Said => ({
  ...{ ...CLAIM, outcome: `refused ${reason}`, message, condition: reason },
  ...{ events: [`Pod bad ${reason}`], has: [] },
})
const unreadable = { outcome: 'unreadable', events: ['IPAMClaim bad UnreadableObject'], has: [] } as const
const CLAIMS: readonly (readonly [string, KubeObject, Said])[] = [
  [
    'without a network',
    { ...claimOf('bad'), spec: { interface: '' } },
    { ...CLAIM, ...unreadable, message: 'spec.network' },
  ],
  [
    'without an interface',
    { ...claimOf('bad'), spec: { network: 'lab' } },
    { ...CLAIM, ...unreadable, message: 'spec.interface' },
  ],
  [
    'of a network whose name is empty',
    claimOf('bad', undefined, {}, ''),
    {
      ...{ ...CLAIM, outcome: 'refused NetworkMismatch', message: 'the network ""', has: [] },
      ...{ events: ['Pod bad NetworkMismatch'] },
    },
  ],
  ['outside', claimOf('bad', { ips: ['10.9.9.9/29'] }), refusedBy('OutsideNetwork', 'does not give 10.9.9.9/29')],
  ['that is no address', claimOf('bad', { ips: ['x'] }), refusedBy('InternalError', 'status.ips[0]')],
  [
    'of length 0',
    claimOf('bad', { ips: ['10.0.0.3/0'] }),
    refusedBy('InternalError', '10.0.0.3/0 has the prefix length 0'),
  ],
  [
    'of another family',
    claimOf('bad', { ips: ['fd00::1/64'] }),
    refusedBy('OutsideNetwork', 'does not give fd00::1/64'),
  ],
  [
    'two of one family',
    claimOf('bad', { ips: ['10.0.0.3/29', '10.0.0.4/29'] }),
    refusedBy('FamilyMismatch', '10.0.0.3/29, 10.0.0.4/29'),
  ],
  [
    'twice',
    claimOf('bad', { ips: ['10.0.0.3/29', '10.0.0.3/29'] }),
    refusedBy('InternalError', '10.0.0.3/29 is an address that the list has twice'),
  ],
  [
    'of a Pod that never was',
    claimOf('bad', { ips: ['10.0.0.3/29'], ownerPod: { name: 'never' } }),
    { ...CLAIM, outcome: 'served', message: '', events: [], condition: 'SuccessfulAllocation', has: ['10.0.0.3/29'] },
  ],
]

const lab = JSON.parse((ovnNad('bad') as { spec: { config: string } }).spec.config) as { name: string }
const DEFINITIONS: readonly (readonly [string, unknown, string, string])[] = [
  ['not JSON', '{', 'NetworkNotReady', 'unexpected end'],
  ['a chain', { name: 'lab', plugins: [lab, { type: 'tuning' }] }, 'NetworkNotReady', 'chaining is not supported'],
  ['an array', [lab], 'NetworkNotReady', 'expected an object, got a list'],
  ['of another name', { ...lab, netAttachDefName: 'ns1/other' }, 'NetworkNotReady', 'is inconsistent with config'],
  ['wholly excluded', { ...lab, name: 'lab2', excludeSubnets: '10.0.0.0/29' }, 'SubnetExhausted', 'lab2'],
]

describe.each(LEDGERS)('on %s, the neighbour has its address beside', (ledger) => {
  async function expectSaid(input: readonly KubeObject[], said: Said): Promise<void> {
    const world = await new ServingWorld({}, ledger).put(ovnNad('blue'), claimOf('vm1.blue'))
    await world.put(podIn('good', ['blue:vm1.blue']), ...input)
    await world.look()
    const outcome = world.outcomes.get(said.of) as { kind: string; reasons?: readonly string[]; message: string }
    expect([outcome.kind, ...(outcome.reasons ?? [])].join(' ')).toBe(said.outcome)
    expect(outcome.message).toContain(said.message)
    expect(outcome.message.length).toBeLessThan(1000)
    expect([...new Set(world.events)].sort()).toEqual(said.events)
    expect(world.events.length).toBeLessThan(10)
    const { conditions } = ((await world.status('bad')) ?? {}) as { conditions?: readonly { reason: string }[] }
    expect(conditions?.map(({ reason }) => reason).join()).toBe(said.condition)
    if (said.has !== undefined) expect(await world.has('bad')).toEqual(said.has)
    const own = await world.has('good')
    expect(own).toEqual(await world.ips('vm1.blue'))
    expect(own).toHaveLength(1)
    // what comes later is served too
    await world.put(ovnNad('red', { name: 'red', subnets: '10.1.0.0/29' }))
    await (await world.put(podIn('late', ['red']))).look()
    expect(await world.has('late')).toEqual(['10.1.0.1/29'])
  }

  test.each(SELECTIONS)('a selection: %s', (_, pod, said) => expectSaid([pod], said))

  test.each(CLAIMS)('a claim: %s', (_, claim, said) => expectSaid([claim, podIn('bad', ['blue:bad'])], said))

  test.each(DEFINITIONS)('a definition: %s', async (_, config, reason, message) => {
    const text = typeof config === 'string' ? config : JSON.stringify(config)
    const definition = { ...ovnNad('bad'), spec: { config: text } }
    const outcome = reason === 'NetworkNotReady' ? 'waiting' : `refused ${reason}`
    await expectSaid([definition, podIn('bad', ['bad'])], { ...POD, outcome, message, events: [`Pod bad ${reason}`] })
  })
})

test('a machine with a network twice has one claim, and the next machine has its own', async () => {
  const world = await new World().put(nad('blue'), nad('red'))
  for (const [name, networks] of [
    ['vm1', ['a=blue', 'a=red']],
    ['vm2', ['blue']],
  ] as const) {
    const { kind, apiVersion, metadata } = machine(name)
    await world.put({ kind, apiVersion, metadata, spec: { template: {} } })
    await world.put(instance(name, undefined, ...networks))
  }
  await world.look()
  expect(world.outcome()).toMatchObject({ kind: 'refused', reasons: ['NameConflict'] })
  expect(world.events.map(({ about, reason }) => `${about.name} ${reason}`)).toEqual(['vm1 NameConflict'])
  expect(await world.names()).toEqual(['vm1.a', 'vm2.blue'])
})

describe('an admission review', () => {
  const rules = { vm: [vmPodRule()], workload: [workloadPodRule()] }

  async function answer(rule: keyof typeof rules, selection: string, more: object = {}) {
    const store = memoryStore({ now: () => 0, kinds: [VirtualMachineInstance.info, NetworkAttachmentDefinition.info] })
    for (const object of [nad('blue'), nad('red'), instance('vm1', undefined, 'blue', 'red')]) {
      unwrap(await store.create(object))
    }
    const own = { 'kubevirt.io/domain': 'vm1', 'ipam-kit.dev/claim-template': '{pod}.{network}' }
    const labels = { 'ipam-kit.dev/persistent-ips': 'true' }
    const metadata = { name: 'p', labels, annotations: { ...own, [NETWORKS]: selection } }
    const kind = { group: '', version: 'v1', kind: 'Pod' }
    const object = { apiVersion: 'v1', kind: 'Pod', metadata, spec: {} }
    const request = { uid: 'u', kind, namespace: 'ns1', operation: 'CREATE', object, ...more }
    const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }
    const answered = await answerReview(review, store, { rules: rules[rule] })
    if (answered.kind !== 'AdmissionReview') return expect.unreachable()
    const { allowed, status, patch = '', warnings = [] } = answered.response
    const claims =
      Buffer.from(patch, 'base64')
        .toString()
        .match(/(?:vm1|p)\.(?:blue|red)/g) ?? []
    return { allowed, code: status?.code, message: status?.message ?? '', claims, warnings }
  }

  const own = { vm: ['vm1.blue', 'vm1.red'], workload: ['p.blue', 'p.red'] }

  describe.each(['vm', 'workload'] as const)('of the %s rule, about a selection', (rule) => {
    test.each([
      ['both forms mixed', '[{"name":"blue"}],red'],
      ['a claim with a slash', '[{"name":"blue","ipam-claim-reference":"a/b"}]'],
      ['a claim with 300 characters', JSON.stringify(naming('a'.repeat(300)))],
    ])('%s: is refused, and says why', async (_, selection) => {
      const message = 'failed to parse pod network selection elements'
      const answered = await answer(rule, selection)
      expect(answered).toMatchObject({ allowed: false, code: 400, message, claims: [] })
      expect(answered.warnings.join()).toMatch(/not JSON|ipam-claim-reference: [^I]/)
    })

    test.each([
      ['fields that are not known', '[{"name":"blue","later":1},{"name":"red"}]', 0],
      ['a claim that is empty', '[{"name":"blue","ipam-claim-reference":""},{"name":"red"}]', 0],
      ['one interface name twice', '[{"name":"blue","interface":"x"},{"name":"red","interface":"x"}]', 1],
    ])('%s: names all claims', async (_, selection, warnings) => {
      const answered = await answer(rule, selection)
      expect(answered).toMatchObject({ allowed: true, claims: own[rule] })
      expect(answered.warnings).toHaveLength(warnings)
    })

    test('1,000 elements: names the claims of those that have a definition', async () => {
      expect(await answer(rule, ['blue', ...MANY, 'red'].join())).toMatchObject({ allowed: true, claims: own[rule] })
    })
  })

  test.each([
    ['of another kind', { kind: { group: '', version: 'v1', kind: 'Node' } }],
    ['of a kind that its object is not', { object: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } } }],
    ['of an object that is empty', { object: {} }],
  ])('%s is refused, and the next one is answered', async (_, more) => {
    expect(await answer('vm', 'blue', more)).toMatchObject({
      allowed: false,
      code: 400,
      message: expect.stringMatching(/./),
    })
    expect(await answer('vm', 'blue,red')).toMatchObject({ allowed: true, claims: own.vm })
  })

  test('of a dry run has the same answer', async () => {
    expect(await answer('vm', 'blue,red', { dryRun: true })).toEqual(await answer('vm', 'blue,red'))
  })
})
