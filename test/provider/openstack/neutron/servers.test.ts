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
    const floatingIP = { id, address: '203.0.113.2', network, port: '', revision: 1 }
    const expected = {
      addresses: ['10.0.0.9'],
      ports: [{ id: port, fixedIPs: [{ subnet: first, address: '10.0.0.9' }] }],
      routers: [
        { id: router, subnets: [first, second], gatewayNetwork: network },
        { id: lonely, subnets: [second] },
      ],
      floatingIPs: [floatingIP],
    }
    expect(unwrap(await describeServer())).toEqual(expected)
    expect(unwrap(await fake.describeServer({ access, server: 'vm', address: '203.0.113.2' }))).toEqual(expected)
    fake.byHand.attach(id, port)
    expect(unwrap(await describeServer())).toEqual({
      ...expected,
      addresses: ['10.0.0.9', '203.0.113.2'],
      floatingIPs: [{ ...floatingIP, port, revision: 2 }],
    })
  })

  test('that does not exist, and an address that does not', async () => {
    const { describeServer } = serverWorld()
    expect(unwrap(await describeServer('none', '203.0.113.99'))).toEqual({
      ...{ addresses: [], ports: [], routers: [], floatingIPs: [] },
    })
    expect(await describeServer('')).toMatchObject({ ok: false })
  })

  test('all floating IPs with its address, of whatever network', async () => {
    const { fake, network, id, describeServer } = serverWorld()
    const other = fake.addNetwork({ name: 'other', cidrs: ['203.0.113.0/24'] }).id
    const second = fake.create({ network: other, project: 'project' }, { kind: 'sameAddress' }).id
    const { floatingIPs } = unwrap(await describeServer())
    expect(floatingIPs.map((it) => [it.id, it.network])).toEqual([
      [id, network],
      [second, other],
    ])
  })

  test('is described without a floating IP that cannot be read, unless all are such', async () => {
    const { describeServer, answerWith } = serverWorld()
    const one = { id: 'f', floating_ip_address: '203.0.113.2', floating_network_id: 'n' }
    const answer = (...floatingips: object[]) =>
      answerWith('GET', /floatingips/u, {
        text: JSON.stringify({ floatingips, floatingips_links: [{ rel: 'previous' }] }),
      })
    answer({ ...one, id: 'w', tags: 7 }, one)
    expect(unwrap(await describeServer()).floatingIPs).toMatchObject([{ id: 'f' }])
    answer({ ...one, id: 'w', tags: 7 })
    expect(await describeServer()).toMatchObject({
      failure: { message: expect.stringContaining('floatingips w: tags') },
    })
  })
})

const fixedAddress = '10.0.0.9'

describe('attaching', () => {
  test('to a port with several addresses names one of them', async () => {
    const { cloud, fake, id, first, second } = serverWorld()
    const fixedIPs = [
      { subnet: first, address: '10.0.0.20' },
      { subnet: second, address: '10.0.1.20' },
    ]
    const port = fake.addPort({ device: 'vm', network: fake.networkOf(first), fixedIPs }).id
    const attach = (fixed: string) => cloud.attachFloatingIP({ access, id, port, fixedAddress: fixed, revision: 1 })
    expect(await attach('10.0.0.9')).toMatchObject({ failure: { nothingDone: true } })
    expect(await attach('10.0.1.20')).toMatchObject({ ok: true })
    expect(fake.show(id).port).toBe(port)
  })

  test('for the revision that was read', async () => {
    const { cloud, fake, id, port } = serverWorld()
    fake.byHand.describe(id, 'changed')
    const stale = await cloud.attachFloatingIP({ access, id, port, fixedAddress, revision: 1 })
    expect(stale).toMatchObject({
      failure: { retryable: true, nothingDone: true, message: expect.stringContaining('412') },
    })
    expect(await cloud.attachFloatingIP({ access, id, port, fixedAddress, revision: 2 })).toEqual({
      ok: true,
      value: {},
    })
    expect(fake.show(id).port).toBe(port)
  })

  test('to a port that has one already is a conflict', async () => {
    const { cloud, fake, id, port, network } = serverWorld()
    fake.byHand.attach(fake.byHand.create({ network }), port)
    const answer = await cloud.attachFloatingIP({ access, id, port, fixedAddress, revision: null })
    expect(answer).toMatchObject({
      failure: { retryable: true, nothingDone: true, message: expect.stringContaining('409') },
    })
  })

  test('without an answer may have been done', async () => {
    const { cloud, fake, id, port } = serverWorld()
    fake.inject('attachFloatingIP', 'lostAnswer')
    const answer = await cloud.attachFloatingIP({ access, id, port, fixedAddress, revision: 1 })
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
