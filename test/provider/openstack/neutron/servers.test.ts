import { describe, expect, test } from 'vitest'
import { access, unwrap, worldWith } from './world.js'

function serverWorld() {
  const world = worldWith()
  const { fake, network } = world
  const inner = fake.addNetwork({ name: 'inner', cidrs: ['10.0.0.0/24', '10.0.1.0/24'], isExternal: false }).id
  const [first, second] = [fake.subnetId(inner, 0), fake.subnetId(inner, 1)]
  const port = fake.addPort({ device: 'vm', network: inner, fixedIPs: [{ subnet: first, address: '10.0.0.9' }] }).id
  fake.addPort({ device: 'other', network: inner, fixedIPs: [] })
  const router = fake.addRouter({ subnets: [first, second], gatewayNetwork: network }).id
  const lonely = fake.addRouter({ subnets: [second] }).id
  fake.addRouter({ subnets: [fake.subnetId(network, 0)] })
  const id = fake.byHand.create({ network })
  const describeServer = (server = 'vm', address = '203.0.113.2') =>
    world.cloud.describeServer({ access, server, address })
  return { ...world, first, second, port, router, lonely, id, describeServer }
}

describe('a server', () => {
  test('its ports, its routers, and its floating IP, as the fake cloud itself says', async () => {
    const { fake, network, first, second, port, router, lonely, id, describeServer } = serverWorld()
    const expected = {
      addresses: ['10.0.0.9'],
      ports: [{ id: port, subnets: [first] }],
      routers: [
        { id: router, subnets: [first, second], gatewayNetwork: network },
        { id: lonely, subnets: [second] },
      ],
      floatingIP: { id, address: '203.0.113.2', network, port: '', revision: 1 },
    }
    expect(unwrap(await describeServer())).toEqual(expected)
    expect(unwrap(await fake.describeServer({ access, server: 'vm', address: '203.0.113.2' }))).toEqual(expected)
    fake.byHand.attach(id, port)
    expect(unwrap(await describeServer())).toEqual({
      ...expected,
      addresses: ['10.0.0.9', '203.0.113.2'],
      floatingIP: { ...expected.floatingIP, port, revision: 2 },
    })
  })

  test('that does not exist, and an address that does not', async () => {
    const { describeServer } = serverWorld()
    expect(unwrap(await describeServer('none', '203.0.113.99'))).toEqual({ addresses: [], ports: [], routers: [] })
    expect(await describeServer('')).toMatchObject({ ok: false })
  })

  test('an address that two floating IPs have is a failure', async () => {
    const { fake, network, describeServer } = serverWorld()
    fake.create({ network, project: 'project' }, { kind: 'sameAddress' })
    expect(await describeServer()).toMatchObject({
      failure: { retryable: true, message: expect.stringContaining('several') },
    })
  })
})

describe('attaching', () => {
  test('for the revision that was read', async () => {
    const { cloud, fake, id, port } = serverWorld()
    fake.byHand.describe(id, 'changed')
    const stale = await cloud.attachFloatingIP({ access, id, port, revision: 1 })
    expect(stale).toMatchObject({
      failure: { retryable: true, nothingDone: true, message: expect.stringContaining('412') },
    })
    expect(await cloud.attachFloatingIP({ access, id, port, revision: 2 })).toEqual({ ok: true, value: {} })
    expect(fake.show(id).port).toBe(port)
  })

  test('to a port that has one already is a conflict', async () => {
    const { cloud, fake, id, port, network } = serverWorld()
    fake.byHand.attach(fake.byHand.create({ network }), port)
    const answer = await cloud.attachFloatingIP({ access, id, port, revision: null })
    expect(answer).toMatchObject({
      failure: { retryable: true, nothingDone: true, message: expect.stringContaining('409') },
    })
  })

  test('without an answer may have been done', async () => {
    const { cloud, fake, id, port } = serverWorld()
    fake.inject('attachFloatingIP', 'lostAnswer')
    const answer = await cloud.attachFloatingIP({ access, id, port, revision: 1 })
    expect(answer).toMatchObject({ failure: { retryable: true } })
    expect(answer).not.toHaveProperty('failure.nothingDone')
    expect(fake.show(id).port).toBe(port)
  })
})

describe('detaching', () => {
  test('from this port alone', async () => {
    const { cloud, fake, id, port } = serverWorld()
    fake.byHand.attach(id, port)
    expect(await cloud.detachFloatingIP({ access, id, port: 'another' })).toMatchObject({ ok: true })
    expect(fake.show(id).port).toBe(port)
    expect(await cloud.detachFloatingIP({ access, id, port })).toMatchObject({ ok: true })
    expect(fake.show(id).port).toBe('')
    for (const gone of [id, 'a0a0'])
      expect(await cloud.detachFloatingIP({ access, id: gone, port })).toMatchObject({ ok: true })
  })

  test('what is moved to another port meanwhile stays there', async () => {
    const { cloud, fake, id, port, network, state } = serverWorld()
    const other = fake.addPort({ device: 'other', network, fixedIPs: [] }).id
    fake.byHand.attach(id, port)
    state.intercept = ({ method }) => {
      if (method === 'PUT') fake.byHand.attach(id, other)
      return undefined
    }
    expect(await cloud.detachFloatingIP({ access, id, port })).toMatchObject({ failure: { nothingDone: true } })
    expect(fake.show(id).port).toBe(other)
  })
})
