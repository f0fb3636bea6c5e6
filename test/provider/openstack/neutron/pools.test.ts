import { MAX_MARKER } from 'ipam-kit/provider/external'
import { describe, expect, test } from 'vitest'
import { access, base, marker, PASSWORD, pool, seenOf, tag, unwrap, worldWith } from './world.js'

const FIPS = /\/v2\.0\/floatingips/u

describe('lists', () => {
  test('are read page by page', async () => {
    const { fake, network, list, count } = worldWith({ handler: { maxPageSize: 3 } })
    for (let i = 0; i < 10; i++) fake.byHand.create({ network })
    expect(unwrap(await list()).addresses.map(({ id }) => id)).toEqual(fake.floatingIPs.map(({ id }) => id))
    expect(count('GET', FIPS)).toBe(4)
  })

  test('whose marker was deleted meanwhile are begun again', async () => {
    const { fake, network, list, state } = worldWith({ handler: { maxPageSize: 3 } })
    for (let i = 0; i < 7; i++) fake.byHand.create({ network })
    let left = 1
    state.intercept = ({ url }) => {
      const [, last] = /marker=([^&]+)/u.exec(url) ?? []
      if (last !== undefined && left-- > 0) fake.byHand.delete(last)
      return undefined
    }
    expect(unwrap(await list()).addresses).toHaveLength(6)
  })

  test('whose marker is deleted again and again are a failure', async () => {
    const { fake, network, list, state } = worldWith({ handler: { maxPageSize: 1 } })
    for (let i = 0; i < 9; i++) fake.byHand.create({ network })
    state.intercept = ({ url }) => {
      const [, last] = /marker=([^&]+)/u.exec(url) ?? []
      if (last !== undefined) fake.byHand.delete(last)
      return undefined
    }
    expect(await list()).toMatchObject({ failure: { retryable: true, message: expect.stringContaining('too fast') } })
  })

  const floatingips = Array.from({ length: 1100 }, (_, nth) => ({
    ...{ id: `f-${1000 + nth}`, floating_ip_address: '203.0.113.9', floating_network_id: 'n' },
  }))
  const cut = (most: number, url: string, readsMarker = true) => {
    const [, marker] = /[?&]marker=([^&]+)/u.exec(url) ?? []
    const first = readsMarker ? floatingips.findIndex(({ id }) => id === marker) + 1 : 0
    return floatingips.slice(first, first + most)
  }

  test.each([100, 500, 700, 2000])('of a cloud that has no links, and pages of up to %i, are whole', async (most) => {
    const { list, state } = worldWith()
    state.intercept = ({ method, url }) => {
      if (method !== 'GET' || !FIPS.test(url)) return undefined
      return { status: 200, headers: {}, text: JSON.stringify({ floatingips: cut(most, url) }) }
    }
    expect(unwrap(await list()).addresses).toHaveLength(1100)
  })

  test.each([100, 500, 700])('of a cloud that ignores the marker, and cuts after %i, are refused', async (most) => {
    for (const links of [{}, { floatingips_links: [{ rel: 'next' }] }]) {
      const { list, state } = worldWith()
      state.intercept = ({ method, url }) => {
        if (method !== 'GET' || !FIPS.test(url)) return undefined
        return { status: 200, headers: {}, text: JSON.stringify({ floatingips: cut(most, url, false), ...links }) }
      }
      const message = expect.stringContaining('a page is repeated')
      expect(await list()).toMatchObject({ failure: { retryable: true, message } })
    }
  })

  test('do not follow a link: the token would go to another host', async () => {
    const { list, requests, answerWith } = worldWith()
    const page = { floatingips: [], floatingips_links: [{ rel: 'next', href: 'http://evil.test/' }] }
    answerWith('GET', FIPS, { text: JSON.stringify(page) })
    unwrap(await list())
    expect(requests.every(({ url }) => url.startsWith('http://openstack.test/'))).toBe(true)
  })

  test('are limited to the project, also for an administrator', async () => {
    const users = [{ name: 'capo', password: PASSWORD, project: 'project', isAdmin: true }]
    const { fake, network, create, list, cloud } = worldWith({ handler: { users } })
    fake.byHand.create({ network, project: 'theirs' })
    const { id } = unwrap(await create())
    expect(unwrap(await list()).addresses).toMatchObject([{ id }])
    const server = await cloud.describeServer({ access, server: 'vm', address: '203.0.113.3' })
    expect(unwrap(server).floatingIPs).toEqual([{ id, address: '203.0.113.3', network, port: '', revision: 2 }])
  })

  test('show what is in use, by whichever means, and its revision', async () => {
    const { fake, network, list } = worldWith()
    const port = fake.addPort({ device: 'server', network, fixedIPs: [] }).id
    fake.byHand.create({ network, port, tags: ['a'], description: 'of the office' })
    fake.byHand.create({ network, project: 'theirs' })
    expect(unwrap(await list())).toEqual({
      addresses: [
        {
          id: fake.floatingIPs[0]?.id,
          address: '203.0.113.2',
          network,
          marker: '',
          isAttached: true,
          revision: '1',
          tags: ['a'],
        },
      ],
    })
  })
})

describe('the description', () => {
  test('names the pool, and has the marker from the start', async () => {
    const { create, fake, requests } = worldWith()
    unwrap(await create())
    expect(fake.floatingIPs[0]?.description).toBe(`Created for pool office/public, ipam-kit ${marker}`)
    const [post] = requests.filter(({ method, url }) => method === 'POST' && FIPS.test(url))
    expect(JSON.parse(post?.body ?? '')).toMatchObject({
      floatingip: { description: `Created for pool office/public, ipam-kit ${marker}` },
    })
  })

  test('has room for the marker, however long the names are', async () => {
    const { cloud, fake, network } = worldWith()
    const long = { namespace: 'n'.repeat(63), name: 'p'.repeat(253) }
    const uid = '8a7e1b8e-5f0c-4c0b-9a55-3b8c2f3f0a01'
    const input = { ...base, pool: long, network, marker: `${uid}/spare` }
    let seen = seenOf(unwrap(await cloud.createAddress(input)))
    const longest = 'm'.repeat(MAX_MARKER - uid.length - 1)
    for (const marker of [`${uid}/${uid}`, `${uid}/${longest}`]) {
      seen = seenOf(unwrap(await cloud.markAddress({ ...base, pool: long, seen, marker })))
      expect(seen.marker).toBe(marker)
    }
    expect(fake.floatingIPs[0]?.description.length).toBeLessThanOrEqual(255)
  })

  test.each(['no-slash', 'a/b/c', 'a b/c', 'a/\u0000', `${'a'.repeat(200)}/${'b'.repeat(100)}`])(
    'cannot have the marker %j: nothing is created',
    async (bad) => {
      const { create, fake } = worldWith()
      expect(await create(bad)).toMatchObject({ failure: { retryable: false, nothingDone: true } })
      expect(fake.floatingIPs).toEqual([])
    },
  )

  test('of others stays when it is marked, and when the marker is removed', async () => {
    const { cloud, fake, network } = worldWith()
    const id = fake.byHand.create({ network, description: 'of the office' })
    let seen = seenOf({ id, revision: '1' })
    const mark = async (text: string) => {
      seen = seenOf(unwrap(await cloud.markAddress({ ...base, seen, marker: text })))
      return fake.floatingIPs[0]?.description
    }
    expect(await mark(marker)).toBe(`of the office, ipam-kit ${marker}`)
    expect(await mark('pool-uid/spare')).toBe('of the office, ipam-kit pool-uid/spare')
    expect(await mark('')).toBe('of the office')
  })

  test('without room for the marker is a failure that says so', async () => {
    const { cloud, fake, network } = worldWith()
    const id = fake.byHand.create({ network, description: 'd'.repeat(250) })
    const message = expect.stringContaining('has no room for the marker')
    expect(await cloud.markAddress({ ...base, seen: seenOf({ id }), marker })).toMatchObject({
      failure: { nothingDone: true, message },
    })
  })

  test('that was changed meanwhile is not written over', async () => {
    const { cloud, fake, network, state } = worldWith()
    const id = fake.byHand.create({ network })
    state.intercept = ({ method }) => {
      if (method === 'PUT') fake.byHand.describe(id, 'do not touch')
      return undefined
    }
    const answer = await cloud.markAddress({ ...base, seen: seenOf({ id, revision: '1' }), marker })
    expect(answer).toMatchObject({
      failure: { retryable: true, nothingDone: true, message: expect.stringContaining('412') },
    })
    expect(fake.floatingIPs[0]?.description).toBe('do not touch')
  })

  test('that has the marker already is not written', async () => {
    const { cloud, create, count } = worldWith()
    const seen = seenOf(unwrap(await create()))
    unwrap(await cloud.markAddress({ ...base, seen, marker }))
    expect(count('PUT', /floatingips\/[^/]+$/u)).toBe(0)
  })
})

describe('the tag of the pool', () => {
  test('is added after the creation, and those of others stay', async () => {
    const { cloud, create, fake, count } = worldWith()
    const created = unwrap(await create())
    const { id, tags } = created
    expect([tags, fake.floatingIPs[0]?.tags]).toEqual([[tag], [tag]])
    fake.byHand.tag(id, 'mine')
    let seen = seenOf(created)
    for (const text of ['pool-uid/spare', '']) {
      seen = seenOf(unwrap(await cloud.markAddress({ ...base, seen, marker: text })))
    }
    expect(fake.floatingIPs[0]?.tags).toEqual([tag, 'mine'])
    expect([count('PUT', /\/tags$/u), count('DELETE', /tags/u)]).toEqual([0, 0])
  })

  test('that could not be added is added by the next list', async () => {
    const { create, fake, list } = worldWith()
    fake.inject('tagAddress', 'down', 'unavailable')
    expect(unwrap(await create()).tags).toEqual([])
    expect(unwrap(await list()).addresses).toMatchObject([{ tags: [] }])
    expect(unwrap(await list()).addresses).toMatchObject([{ tags: [tag] }])
    expect(fake.floatingIPs[0]?.tags).toEqual([tag])
  })

  test('and by the next mark', async () => {
    const { cloud, create, fake } = worldWith()
    fake.inject('tagAddress', 'down')
    const seen = seenOf(unwrap(await create()))
    expect(unwrap(await cloud.markAddress({ ...base, seen, marker: 'pool-uid/spare' })).tags).toEqual([tag])
  })

  test('is not added to what was there before the pool, nor to what is of another pool', async () => {
    const { cloud, fake, network, list } = worldWith()
    const id = fake.byHand.create({ network, description: 'mine' })
    unwrap(await cloud.markAddress({ ...base, seen: seenOf({ id }), marker }))
    fake.byHand.create({ network, description: `Created for pool office/public, ipam-kit other-uid/claim` })
    unwrap(await list())
    expect(fake.floatingIPs.map(({ tags }) => tags)).toEqual([[], []])
  })

  test('that is too long for the cloud is not tried again with each list', async () => {
    const { cloud, fake, network, clock } = worldWith()
    const long = { ...pool, name: 'p'.repeat(40) }
    const all = { ...base, pool: long, network }
    unwrap(await cloud.createAddress({ ...all, marker }))
    const list = () => cloud.listAddresses({ ...all, markers: ['pool-uid/'], tags: [], addresses: [] })
    for (let i = 0; i < 3; i++) unwrap(await list())
    expect(fake.calls.get('tagAddress')).toBe(1)
    clock.nowMs += 600_000
    unwrap(await list())
    expect(fake.calls.get('tagAddress')).toBe(2)
  })

  test('is added by a list to 20 at most', async () => {
    const { create, fake, list } = worldWith()
    fake.inject('tagAddress', ...Array.from({ length: 30 }, () => 'down' as const))
    for (let i = 0; i < 30; i++) unwrap(await create(`pool-uid/claim-${i}`))
    unwrap(await list())
    expect(fake.floatingIPs.filter(({ tags }) => tags.length > 0)).toHaveLength(20)
    unwrap(await list())
    expect(fake.floatingIPs.filter(({ tags }) => tags.length > 0)).toHaveLength(30)
  })

  test('can be another one, or none', async () => {
    const other = worldWith({ tagOf: ({ name }) => `of ${name}/ä` })
    expect(unwrap(await other.create()).tags).toEqual(['of public/ä'])
    const none = worldWith({ tagOf: () => undefined })
    expect(unwrap(await none.create()).tags).toEqual([])
    expect(none.fake.calls.get('tagAddress')).toBeUndefined()
  })
})

describe('a floating IP that was changed since the pool has seen it', () => {
  const changed = { retryable: true, nothingDone: true }

  test.each(['description', 'revision'])('by its %s, is neither marked nor deleted', async (what) => {
    const { cloud, create, fake, count } = worldWith()
    const { id, address } = unwrap(await create())
    const { revision } = fake.show(id)
    const seen = { id, marker, revision: String(revision) }
    fake.byHand.describe(id, what === 'description' ? 'ipam-kit pool-uid/other' : `mine, ipam-kit ${marker}`)
    if (what === 'description') seen.revision = String(revision + 1)
    const message = expect.stringContaining('was changed')
    const marked = await cloud.markAddress({ ...base, seen, marker: 'pool-uid/deleting' })
    expect(marked).toMatchObject({ failure: { ...changed, message } })
    expect(await cloud.deleteAddress({ ...base, seen, address })).toMatchObject({ failure: { ...changed, message } })
    expect([count('PUT', /floatingips\/[^/]+$/u), count('DELETE', FIPS), fake.floatingIPs.length]).toEqual([0, 0, 1])
  })

  test('is told by the revision of a list, and by no revision after a tag', async () => {
    const { cloud, create, list, fake } = worldWith()
    const created = unwrap(await create())
    expect(created.revision).toBeUndefined()
    const [listed] = unwrap(await list()).addresses
    expect(listed?.revision).toBe(String(fake.show(created.id).revision))
    unwrap(await cloud.deleteAddress({ ...base, seen: seenOf(listed!), address: created.address }))
    expect(fake.floatingIPs).toEqual([])
  })
})
