import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { OpenStackServer } from 'ipam-kit/crd/openstack'
import { floatingServers } from 'ipam-kit/provider/openstack'
import { describe, expect, test } from 'vitest'
import { ADDRESS, CLAIM, claimJson, ownedBy, poolRef, World } from './world.js'

const CLAIM_FINALIZER = 'openstackmachine.infrastructure.cluster.x-k8s.io/ip-claim'
const FINALIZER = 'ipam-kit.dev/floating-ip'
const down = { message: 'the cloud is down', retryable: true, nothingDone: true } as const
const timedOut = { message: 'timed out', retryable: true } as const
const exhausted = (reason = 'PoolExhausted') => ({
  conditions: [{ type: 'Ready', status: 'False', reason, message: 'full', lastTransitionTime: '2026-01-01T00:00:00Z' }],
})

describe('a server that names a pool', () => {
  test('gets a finalizer and a claim, and says what it waits for', async () => {
    const world = new World()
    const { metadata } = await world.server(undefined, { labels: { 'cluster.x-k8s.io/cluster-name': 'prod' } })
    expect(await world.work()).toBe('waiting')
    expect((await world.get(OpenStackServer, 'w1'))?.metadata.finalizers).toEqual([FINALIZER])
    expect(await world.claim()).toMatchObject({
      metadata: {
        labels: { 'cluster.x-k8s.io/cluster-name': 'prod' },
        finalizers: [CLAIM_FINALIZER],
        ownerReferences: [{ kind: 'OpenStackServer', name: 'w1', uid: metadata.uid }],
      },
      spec: { poolRef },
    })
    expect(await world.condition()).toMatchObject({
      status: 'False',
      reason: 'WaitingForIPAddress',
      message: expect.stringMatching(/^Waiting 1\/1: /),
    })
    expect(world.events.map(({ reason }) => reason)).toContain('WaitingForIPAddressClaim')
    expect(world.cloud.calls).toEqual([])
  })

  test('waits for its instance with the address, and has it attached then', async () => {
    const world = new World()
    await world.server()
    await world.work()
    await world.bind()
    world.cloud.floatingIP(ADDRESS)
    expect(await world.work()).toBe('bound')
    expect(await world.condition()).toMatchObject({ status: 'False', reason: 'WaitingForInstance' })
    await world.boot()
    expect(await world.work()).toBe('attached')
    expect(await world.condition()).toEqual({ status: 'True', reason: 'Ready', message: '' })
    expect(world.cloud.portOf(ADDRESS)).toBe('i1-p1')
    expect(world.cloud.calls).toEqual(['describeServer', 'attachFloatingIP', 'describeServer'])
  })

  test.each(['a b', '', '\ud800', 'a/b c/d'])('has an instance with any id: %j', async (id) => {
    const world = new World()
    await world.server()
    await world.work()
    await world.bind()
    world.cloud.floatingIP(ADDRESS)
    await world.boot(id)
    expect(await world.work()).toBe(id === '' ? 'bound' : 'attached')
  })

  test('has its address attached only when its claim is held again', async () => {
    const world = new World()
    await world.server()
    await world.work()
    await world.bind()
    world.cloud.floatingIP(ADDRESS)
    await world.patch(IPAddressClaim, CLAIM, { metadata: { finalizers: [] } })
    await world.boot()
    const held: unknown[] = []
    const attach = world.cloud.attachFloatingIP.bind(world.cloud)
    world.cloud.attachFloatingIP = async (input) => {
      held.push((await world.claim())?.metadata.finalizers)
      return attach(input)
    }
    expect(await world.work()).toBe('attached')
    expect(held).toEqual([[CLAIM_FINALIZER]])
  })

  test('is looked at again after checkSeconds, and not with each event before', async () => {
    const world = await new World({ checkSeconds: 100 }).attached()
    const before = world.cloud.calls.length
    await world.patch(OpenStackServer, 'w1', { metadata: { labels: { a: 'b' } } })
    await world.work(99)
    expect(world.cloud.calls.length).toBe(before)
    world.cloud.floatingIP(ADDRESS)
    await world.work(1)
    expect(world.cloud.portOf(ADDRESS)).toBe('i1-p1')
  })

  test('that asks for none has nothing written, and makes no call', async () => {
    const world = new World()
    const before = await world.server({})
    expect(await world.work()).toBe('none')
    expect(await world.get(OpenStackServer, 'w1')).toEqual(before)
  })

  test.each([undefined, ''])('whose reference has the group %j says so', async (apiGroup) => {
    const world = new World()
    await world.server({ floatingIPPoolRef: { ...poolRef, apiGroup } })
    expect(await world.work()).toBe('error')
    expect(await world.condition()).toMatchObject({ reason: 'FloatingIPError', message: /apiGroup/ })
  })

  test('that cannot be read has no plan of effects', async () => {
    const world = new World()
    await world.server({ floatingIPPoolRef: 5 } as object)
    expect(await world.work()).toBe('unreadable')
  })
})

describe('no address is stolen', () => {
  test('one that is attached elsewhere is left there', async () => {
    const world = new World()
    await world.server()
    await world.work()
    await world.bind()
    world.cloud.floatingIP(ADDRESS, 'port-of-another')
    await world.boot()
    expect(await world.work()).toBe('conflict')
    expect(await world.condition()).toMatchObject({
      status: 'False',
      reason: 'FloatingIPError',
      message: /port-of-another/,
    })
    expect(world.cloud.calls).not.toContain('attachFloatingIP')
    expect(world.cloud.portOf(ADDRESS)).toBe('port-of-another')
  })

  test('it is attached when it has become free, without an event', async () => {
    const world = new World()
    await world.server()
    await world.work()
    await world.bind()
    world.cloud.floatingIP(ADDRESS, 'port-of-another')
    await world.boot()
    await world.work()
    world.cloud.floatingIP(ADDRESS)
    expect(await world.work(60)).toBe('attached')
  })

  test('one that another server took between look and call stays there', async () => {
    const world = new World()
    await world.server()
    await world.work()
    await world.bind()
    world.cloud.floatingIP(ADDRESS)
    await world.boot()
    world.cloud.trouble = (operation) => {
      const fip = [...world.cloud.floatingIPs.values()][0]!
      if (operation === 'attachFloatingIP') world.cloud.floatingIPs.set(fip.id, { ...fip, port: 'other', revision: 2 })
      return undefined
    }
    await world.work()
    await world.work(60)
    expect(world.cloud.portOf(ADDRESS)).toBe('other')
    expect(await world.condition()).toMatchObject({ status: 'False', reason: 'FloatingIPError' })
  })

  test('at deletion it is not detached from the port of another server', async () => {
    const world = await new World().attached()
    world.cloud.floatingIP(ADDRESS, 'port-of-another')
    await world.delete(OpenStackServer, 'w1')
    expect(await world.work(10)).toBe('released')
    expect(world.cloud.calls).not.toContain('detachFloatingIP')
    expect(world.cloud.portOf(ADDRESS)).toBe('port-of-another')
  })
})

test('a claim of a server that had the name before is not taken over, and one without an owner is', async () => {
  const world = new World()
  await world.create(claimJson({ finalizers: [CLAIM_FINALIZER], ...ownedBy('w1', 'uid-of-before') }))
  await world.server()
  expect(await world.work()).toBe('conflict')
  expect((await world.claim())?.metadata.ownerReferences?.[0]?.uid).toBe('uid-of-before')
  await world.patch(IPAddressClaim, CLAIM, { metadata: { ownerReferences: [] } })
  expect(await world.work()).toBe('waiting')
})

test('a claim that a suspended process has created for a server that does not exist any more, ends', async () => {
  const world = new World()
  await world.create(claimJson({ finalizers: [CLAIM_FINALIZER], ...ownedBy('w1', 'uid-of-before') }))
  await world.work()
  expect((await world.claim())?.metadata.finalizers).toEqual([CLAIM_FINALIZER])
  // as the garbage collector does
  await world.delete(IPAddressClaim, CLAIM)
  await world.work()
  expect(await world.claim()).toBeUndefined()
})

describe('a claim of its name that is of another owner', () => {
  const foreign = { finalizers: [CLAIM_FINALIZER], ...ownedBy('other', 'u-other') }

  test('is never used and never changed', async () => {
    const world = new World()
    const before = await world.create(claimJson(foreign))
    await world.bind()
    await world.server()
    world.cloud.floatingIP(ADDRESS)
    await world.boot()
    expect(await world.work()).toBe('conflict')
    expect(await world.condition()).toMatchObject({ reason: 'FloatingIPError', message: /^OwnerMismatch: / })
    await world.delete(OpenStackServer, 'w1')
    await world.work(60)
    expect(await world.get(OpenStackServer, 'w1')).toBeUndefined()
    expect((await world.claim())?.metadata).toMatchObject({ uid: before.metadata.uid, finalizers: [CLAIM_FINALIZER] })
    expect(world.cloud.calls).toEqual([])
  })

  test('and is being deleted is waited for', async () => {
    const world = new World()
    await world.create(claimJson({ ...foreign, finalizers: ['example.com/held'] }))
    await world.delete(IPAddressClaim, CLAIM)
    await world.server()
    expect(await world.work()).toBe('terminating')
    await world.patch(IPAddressClaim, CLAIM, { metadata: { finalizers: [] } })
    expect(await world.work(30)).toBe('waiting')
  })

  test('or one that cannot be read, is not touched', async () => {
    const world = new World()
    await world.create({ ...claimJson(), spec: {} })
    await world.server()
    expect(await world.work()).toBe('unreadable')
    await world.delete(OpenStackServer, 'w1')
    await world.work()
    expect((await world.claim())?.metadata.finalizers).toBeUndefined()
  })
})

describe('a server that is deleted', () => {
  test('is detached first, then its claim is released, then the server', async () => {
    const world = await new World().attached()
    const steps: string[] = []
    world.cloud.trouble = (operation) => void steps.push(operation)
    const patch = world.store.patch.bind(world.store)
    world.store.patch = (async (...all: Parameters<typeof patch>) => {
      if ('metadata' in all[1]) steps.push(`${all[0].kind} ${JSON.stringify(all[1])}`)
      return patch(...all)
    }) as typeof patch
    await world.delete(OpenStackServer, 'w1')
    expect(await world.work(10)).toBe('released')
    expect(steps.filter((step) => step !== 'describeServer')).toEqual([
      'detachFloatingIP',
      'IPAddressClaim {"metadata":{"finalizers":[]}}',
      'OpenStackServer {"metadata":{"finalizers":[]}}',
    ])
    expect(world.cloud.portOf(ADDRESS)).toBe('')
    expect(await world.get(OpenStackServer, 'w1')).toBeUndefined()
  })

  test.each([
    ['the cloud cannot be asked', 'describeServer'],
    ['the address cannot be detached', 'detachFloatingIP'],
  ])('keeps the finalizer of its claim while %s', async (_, operation) => {
    const world = await new World().attached()
    await world.delete(OpenStackServer, 'w1')
    for (const retryable of [true, false]) {
      world.cloud.trouble = (asked) => (asked === operation ? { failure: { ...down, retryable } } : undefined)
      expect(await world.work(600)).toBe('holding')
      expect((await world.claim())?.metadata.finalizers).toEqual([CLAIM_FINALIZER])
      expect(await world.condition()).toMatchObject({ reason: 'FloatingIPError', message: /the cloud is down/ })
    }
    world.restart()
    world.cloud.trouble = () => undefined
    expect(await world.work()).toBe('released')
  })

  test('keeps it while a call that was not answered may still attach the address', async () => {
    const world = new World()
    await world.server()
    await world.work()
    await world.bind()
    world.cloud.floatingIP(ADDRESS)
    await world.boot()
    world.cloud.trouble = (operation) => (operation === 'attachFloatingIP' ? { failure: timedOut } : undefined)
    expect(await world.work()).toBe('error')
    await world.delete(OpenStackServer, 'w1')
    expect(await world.work()).toBe('holding')
    expect((await world.claim())?.metadata.finalizers).toEqual([CLAIM_FINALIZER])
    world.cloud.floatingIP(ADDRESS, 'i1-p1')
    expect(await world.work(10)).toBe('holding')
    expect(world.cloud.portOf(ADDRESS)).toBe('')
    expect(await world.work(50)).toBe('released')
  })

  test('keeps it no longer than calls may take', async () => {
    const world = new World({ callSeconds: 5 })
    await world.server()
    await world.work()
    await world.bind()
    world.cloud.floatingIP(ADDRESS)
    await world.boot()
    world.cloud.trouble = (operation) => (operation === 'attachFloatingIP' ? { failure: timedOut } : undefined)
    expect(await world.work()).toBe('error')
    await world.delete(OpenStackServer, 'w1')
    expect(await world.work(4)).toBe('holding')
    expect(await world.work(1)).toBe('released')
  })

  test('keeps it until the instance has no ports, where it is to wait for that', async () => {
    const world = await new World({ releaseWhen: 'instanceGone' }).attached()
    await world.delete(OpenStackServer, 'w1')
    expect(await world.work(10)).toBe('holding')
    expect(world.cloud.portOf(ADDRESS)).toBe('')
    expect((await world.claim())?.metadata.finalizers).toEqual([CLAIM_FINALIZER])
    world.cloud.instances.clear()
    expect(await world.work(10)).toBe('released')
  })

  test('makes no call without an instance, and none if its instance is gone but a look', async () => {
    const world = new World()
    await world.server()
    await world.work()
    await world.bind()
    await world.work()
    await world.delete(OpenStackServer, 'w1')
    expect(await world.work()).toBe('released')
    expect(world.cloud.calls).toEqual([])
    const other = await new World().attached()
    other.cloud.instances.clear()
    other.cloud.calls.length = 0
    await other.delete(OpenStackServer, 'w1')
    await other.work(10)
    expect(other.cloud.calls).toEqual(['describeServer'])
  })

  test('goes where its claim is gone already', async () => {
    const world = await new World().attached()
    await world.patch(IPAddressClaim, CLAIM, { metadata: { finalizers: [] } })
    await world.delete(IPAddress, CLAIM)
    await world.delete(IPAddressClaim, CLAIM)
    await world.delete(OpenStackServer, 'w1')
    expect(await world.work(10)).toBe('released')
    expect(await world.get(OpenStackServer, 'w1')).toBeUndefined()
  })
})

describe('calls that fail', () => {
  test('are made again after a while, later each time, and say why', async () => {
    const world = new World()
    await world.server()
    await world.work()
    await world.bind()
    world.cloud.floatingIP(ADDRESS)
    await world.boot()
    world.cloud.trouble = (operation) => (operation === 'attachFloatingIP' ? { failure: down } : undefined)
    const attaches = () => world.cloud.calls.filter((call) => call === 'attachFloatingIP').length
    await world.work()
    expect([await world.work(), attaches()]).toEqual(['error', 1])
    expect(await world.condition()).toMatchObject({
      message: 'Failed while associating ip from pool: the cloud is down',
    })
    await world.work(5)
    expect(attaches()).toBe(2)
    await world.work(9)
    expect(attaches()).toBe(2)
    await world.work(1)
    expect(attaches()).toBe(3)
    world.cloud.trouble = () => undefined
    expect(await world.work(20)).toBe('attached')
  })

  test('that cannot succeed are not made again before the server changes', async () => {
    const world = new World()
    await world.server()
    await world.work()
    await world.bind()
    await world.boot()
    world.cloud.floatingIP(ADDRESS)
    world.cloud.trouble = () => ({ failure: { message: 'no credentials', retryable: false } })
    await world.work()
    await world.work(100_000)
    expect(world.cloud.calls).toEqual(['describeServer'])
    await world.patch(OpenStackServer, 'w1', { spec: { identityRef: { name: 'b', cloudName: 'b' } } })
    world.cloud.trouble = () => undefined
    expect(await world.work()).toBe('attached')
  })

  test('but were carried out are seen as done', async () => {
    const world = new World()
    await world.server()
    await world.work()
    await world.bind()
    world.cloud.floatingIP(ADDRESS)
    await world.boot()
    world.cloud.trouble = (operation) =>
      operation === 'attachFloatingIP' ? { failure: timedOut, isDone: true } : undefined
    await world.work()
    expect(await world.work(5)).toBe('attached')
    expect(world.cloud.calls.filter((call) => call === 'attachFloatingIP')).toHaveLength(1)
  })

  test('are no crash with an answer that is no description', async () => {
    const world = await new World({ checkSeconds: 10 }).attached()
    world.cloud.describeServer = async () => ({ ok: true, value: null as never })
    expect(await world.work(10)).toBe('error')
    expect(await world.condition()).toMatchObject({ message: /no description of a server/ })
  })
})

test.each([
  ['unknown', (world: World) => world.cloud.floatingIPs.clear(), `floating IP "${ADDRESS}" does not exist`],
  [
    'without a port that reaches its network',
    (world: World) => {
      world.cloud.routers = []
    },
    `Can't find port for floating IP "${ADDRESS}" on external network ext`,
  ],
])('an address that is %s is an error, and looked for again each minute', async (_, change, message) => {
  const world = new World()
  await world.server()
  await world.work()
  await world.bind()
  world.cloud.floatingIP(ADDRESS)
  change(world)
  await world.boot()
  expect(await world.work()).toBe('error')
  expect((await world.condition())?.message).toContain(message)
  await world.work(59)
  expect(world.cloud.calls).toHaveLength(1)
  await world.work(1)
  expect(world.cloud.calls).toHaveLength(2)
})

test('an IPAddress whose text is no address is an error', async () => {
  const world = new World()
  await world.server()
  await world.work()
  await world.bind('x y')
  await world.boot()
  expect(await world.work()).toBe('error')
  expect(world.cloud.calls).toEqual([])
  await world.delete(OpenStackServer, 'w1')
  expect(await world.work()).toBe('released')
})

describe('where the pool has no address', () => {
  test.each(['PoolExhausted', 'BackendExhausted'])('a server fails for good, if it is to: %s', async (reason) => {
    const world = new World({ onExhausted: 'fail' })
    await world.server()
    await world.work()
    await world.patch(IPAddressClaim, CLAIM, { status: exhausted(reason) }, 'status')
    expect(await world.work()).toBe('failed')
    expect(await world.condition()).toMatchObject({ status: 'False', reason: 'FloatingIPPoolExhausted' })
    expect(world.events.at(-1)).toMatchObject({ type: 'Warning', reason: 'FloatingIPPoolExhausted' })
    // it takes no address from others
    expect(await world.claim()).toBeUndefined()
    world.restart()
    expect(await world.work(1000)).toBe('failed')
    expect(await world.claim()).toBeUndefined()
    await world.delete(OpenStackServer, 'w1')
    await world.work()
    expect(await world.get(OpenStackServer, 'w1')).toBeUndefined()
  })

  test('a server whose claim fails for another reason continues to wait', async () => {
    const world = new World({ onExhausted: 'fail' })
    await world.server()
    await world.work()
    await world.patch(IPAddressClaim, CLAIM, { status: exhausted('PoolNotReady') }, 'status')
    expect(await world.work()).toBe('waiting')
  })

  test('a server waits, by default, and says why', async () => {
    const world = new World()
    await world.server()
    await world.work()
    await world.patch(IPAddressClaim, CLAIM, { status: exhausted() }, 'status')
    expect(await world.work()).toBe('waiting')
    expect(await world.condition()).toMatchObject({ reason: 'WaitingForIPAddress', message: /PoolExhausted: full/ })
    await world.patch(IPAddressClaim, CLAIM, { status: { conditions: null } }, 'status')
    await world.bind()
    expect(await world.work()).toBe('bound')
  })
})

describe('what is paused', () => {
  const cluster = (spec: object) => ({
    ...{ apiVersion: Cluster.info.apiVersion, kind: Cluster.info.kind, spec },
    metadata: { name: 'prod', namespace: 'default' },
  })

  test('has no effects: a server, and one that is deleted', async () => {
    const world = await new World().attached()
    await world.patch(OpenStackServer, 'w1', { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } })
    await world.delete(OpenStackServer, 'w1')
    const before = [await world.get(OpenStackServer, 'w1'), await world.claim(), world.cloud.calls.length]
    expect(await world.work(10_000)).toBe('paused')
    expect([await world.get(OpenStackServer, 'w1'), await world.claim(), world.cloud.calls.length]).toEqual(before)
    await world.patch(OpenStackServer, 'w1', { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } })
    expect(await world.work()).toBe('released')
  })

  test('has no effects: a Cluster', async () => {
    const world = new World()
    await world.create(cluster({ paused: true }))
    await world.server(undefined, { labels: { 'cluster.x-k8s.io/cluster-name': 'prod' } })
    expect(await world.work()).toBe('paused')
    expect(await world.claim()).toBeUndefined()
    await world.patch(Cluster, 'prod', { spec: { paused: false } })
    expect(await world.work()).toBe('waiting')
  })
})

test('a server that names no pool any more gives its address back', async () => {
  const world = await new World().attached()
  await world.patch(OpenStackServer, 'w1', { spec: { floatingIPPoolRef: null } })
  expect(await world.work(10)).toBe('none')
  expect(world.cloud.portOf(ADDRESS)).toBe('')
  expect(await world.claim()).toBeUndefined()
  expect((await world.get(OpenStackServer, 'w1'))?.metadata.finalizers ?? []).toEqual([])
})

test('conditions of others stay as they are, also in the older form', async () => {
  const world = new World()
  await world.server()
  const others = [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }]
  await world.patch(OpenStackServer, 'w1', { status: { conditions: others } }, 'status')
  await world.work()
  const server = await world.get<OpenStackServer>(OpenStackServer, 'w1')
  expect(server?.status?.conditions?.[0]).toEqual(others[0])
  expect(server?.status?.conditions).toHaveLength(2)
})

test.each([
  { onExhausted: 'never' },
  { releaseWhen: 'now' },
  { checkSeconds: 9 },
  { checkSeconds: Number.NaN },
  { callSeconds: 0 },
  { callSeconds: 61 },
])('options %j are refused', (options) => {
  expect(() => floatingServers(options as object)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
})
