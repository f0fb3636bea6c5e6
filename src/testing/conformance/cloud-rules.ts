import type { CloudFacts } from '../../provider/external/cloud.js'
import type { CloudTrouble } from '../cloud/troubles.js'
import { type CloudBench, type CloudFeature, expectAnswer, expectRefusal } from './cloud-bench.js'
import { expectEqual, expectTrue } from './harness.js'

/** A rule, and the clouds that it is for. */
export interface CloudRule {
  readonly if?: (facts: CloudFacts) => boolean
  readonly needs?: CloudFeature
  readonly run: (bench: CloudBench) => Promise<void>
}

const UNKNOWN = '7d2f5f0a-0d3b-4f53-9f7d-0c7f0c1f9e99'
const keepsMarkers = ({ marker }: CloudFacts) => marker !== 'none'
const refused = { retryable: true, nothingDone: true } as const

const networks = {
  'network: null finds the only one that fits': {
    needs: 'defaultNetwork',
    run: async ({ cloud, pool, network }) => {
      expectEqual(expectAnswer(await cloud.findNetwork({ ...pool, network: null }), 'find').id, network.id, 'the id')
    },
  },
  'network: one that does not exist is not asked for again': {
    run: async ({ cloud, pool, tested }) => {
      const found = await cloud.findNetwork({ ...pool, network: tested.unknownNetwork })
      expectRefusal(found, { retryable: false, reason: 'PoolNotReady' }, 'findNetwork')
    },
  },
} satisfies Rules

const creation = {
  'create: an address of the network, that is listed after it': {
    run: async (bench) => {
      const created = await bench.created('claim-1')
      expectEqual([created.network, created.isAttached], [bench.network.id, false], 'network and isAttached')
      expectEqual((await bench.listed(created))?.address, created.address, 'the address in the list')
    },
  },
  'create: each has an id and an address of its own': {
    run: async (bench) => {
      const all = [await bench.created('claim-1'), await bench.created('claim-1'), await bench.created('claim-2')]
      expectEqual(
        [new Set(all.map(({ id }) => id)).size, new Set(all.map((it) => it.address)).size],
        [3, 3],
        'how many',
      )
    },
  },
  'create: sets the marker if it is atomic, and only then': {
    run: async (bench) => {
      const created = await bench.created('claim-1')
      const expected = bench.facts.marker === 'atomic' ? bench.marker('claim-1') : ''
      expectEqual(created.marker, expected, 'the marker in the answer')
      expectEqual((await bench.listed(created))?.marker, expected, 'the marker in the list')
    },
  },
  'create: says when, where the marker is set afterwards': {
    if: ({ marker }) => marker === 'after',
    run: async (bench) => {
      const created = await bench.created('claim-1')
      expectTrue(created.createdAtMs !== undefined, 'createdAtMs is needed')
    },
  },
  'create: the address that is asked for, once': {
    if: ({ choosesAddress }) => choosesAddress,
    run: async (bench) => {
      const any = await bench.created('claim-1')
      expectAnswer(await bench.delete(any), 'deleteAddress')
      const chosen = expectAnswer(await bench.create('claim-2', any.address), 'createAddress')
      expectEqual(chosen.address, any.address, 'the address')
      expectRefusal(await bench.create('claim-3', any.address), { nothingDone: true }, 'the same address again')
    },
  },
  'create: in a network that does not exist, nothing is done': {
    run: async (bench) => {
      const input = { ...bench.pool, network: UNKNOWN, marker: bench.marker('claim-1'), address: null }
      expectRefusal(
        await bench.cloud.createAddress(input),
        { nothingDone: true, reason: 'PoolNotReady' },
        'createAddress',
      )
    },
  },
} satisfies Rules

const marking = {
  'mark: sets, replaces and removes the marker': {
    if: keepsMarkers,
    run: async (bench) => {
      const created = await bench.created('claim-1')
      for (const marker of [bench.marker('spare'), bench.marker('claim-2'), bench.marker('claim-2'), '']) {
        expectEqual(expectAnswer(await bench.mark(created.id, marker), 'markAddress').marker, marker, 'the answer')
        expectEqual((await bench.listed(created))?.marker, marker, 'the list')
      }
    },
  },
  'mark: an address of another pool keeps its marker': {
    if: keepsMarkers,
    run: async (bench) => {
      const created = await bench.created('claim-1')
      expectAnswer(await bench.mark(created.id, ''), 'markAddress')
      expectAnswer(await bench.mark(created.id, 'other-pool/claim-9'), 'markAddress')
      expectRefusal(await bench.mark(created.id, bench.marker('claim-1')), refused, 'markAddress')
      expectEqual((await bench.listed(created))?.marker, 'other-pool/claim-9', 'the list')
    },
  },
  'mark: keeps the tags of others': {
    if: keepsMarkers,
    needs: 'tags',
    run: async (bench) => {
      const foreign = await bench.foreign(['of-others'])
      for (const marker of [bench.marker('claim-1'), '']) {
        expectAnswer(await bench.mark(foreign.id, marker), 'markAddress')
        const listed = await bench.listed(foreign)
        expectEqual([listed?.marker, listed?.tags], [marker, ['of-others']], 'marker and tags')
      }
    },
  },
  'mark: an address that does not exist is a failure': {
    if: keepsMarkers,
    run: async (bench) => {
      expectRefusal(await bench.mark(UNKNOWN, bench.marker('claim-1')), refused, 'markAddress')
    },
  },
} satisfies Rules

const deletion = {
  'delete: an address is not listed any more': {
    run: async (bench) => {
      const [kept, deleted] = [await bench.created('claim-1'), await bench.created('claim-2')]
      expectAnswer(await bench.delete(deleted), 'deleteAddress')
      expectEqual([(await bench.listed(deleted))?.id, (await bench.listed(kept))?.id], [undefined, kept.id], 'listed')
    },
  },
  'delete: one that does not exist is deleted': {
    run: async (bench) => {
      const created = await bench.created('claim-1')
      for (let i = 0; i < 2; i++) expectAnswer(await bench.delete(created), 'deleteAddress')
      expectAnswer(await bench.delete({ id: UNKNOWN, address: created.address }), 'deleteAddress')
    },
  },
  'delete: one that is attached stays': {
    needs: 'attachments',
    run: async (bench) => {
      const created = await bench.created('claim-1')
      await bench.operator.attach?.(created.id)
      expectRefusal(await bench.delete(created), refused, 'deleteAddress')
      expectEqual((await bench.listed(created))?.isAttached, true, 'isAttached')
    },
  },
} satisfies Rules

const listing = {
  'list: by the marker of the pool, and by address': {
    run: async (bench) => {
      const other = await bench.foreign()
      const created = await bench.created('claim-1')
      const found = (await bench.list()).map(({ id }) => id)
      expectTrue(bench.facts.marker !== 'atomic' || found.includes(created.id), 'what has the marker is listed')
      // what is marked afterwards has to be seen before
      const isAllListed = !bench.facts.listsByMarker || bench.facts.marker === 'after'
      expectTrue(isAllListed || !found.includes(other.id), 'what has none is not listed')
      expectEqual((await bench.listed(other))?.id, other.id, 'one that is named by its address')
    },
  },
  'list: by tag': {
    needs: 'tags',
    run: async (bench) => {
      const [mine, other] = [await bench.foreign(['mine']), await bench.foreign(['other'])]
      const found = (await bench.list({ tags: ['mine'] })).map(({ id }) => id)
      const isAllListed = !bench.facts.listsByMarker || bench.facts.marker === 'after'
      expectTrue(found.includes(mine.id), 'what has the tag is listed')
      expectTrue(isAllListed || !found.includes(other.id), 'what has another one is not listed')
    },
  },
} satisfies Rules

const troubles = {
  'trouble: a failure with nothingDone has done nothing': {
    needs: 'troubles',
    run: async (bench) => {
      const kinds = ['down', 'quota', 'denied', 'rateLimited', 'unavailable'] as const
      const [known, ...before] = [await bench.created('claim-1'), await bench.foreign()]
      for (const kind of kinds) {
        bench.operator.inject?.('createAddress', kind)
        const failure = expectRefusal(await bench.create('claim-2'), { retryable: true }, `createAddress: ${kind}`)
        const certain = kind === 'quota' || kind === 'denied' || kind === 'rateLimited'
        expectEqual(failure.nothingDone, certain ? true : undefined, `nothingDone of ${kind}`)
        bench.operator.inject?.('deleteAddress', kind)
        expectRefusal(await bench.delete(known), { retryable: true }, `deleteAddress: ${kind}`)
      }
      const addresses = [known, ...before].map(({ address }) => address)
      const listed = (await bench.list({ addresses })).map(({ id }) => id)
      expectEqual([...listed].sort(), [known, ...before].map(({ id }) => id).sort(), 'the list')
    },
  },
  'trouble: a quota, a denial and a limit of calls have their reasons': {
    needs: 'troubles',
    run: async (bench) => {
      const rows: readonly [CloudTrouble, object][] = [
        [{ kind: 'quota' }, { reason: 'BackendExhausted' }],
        [{ kind: 'denied' }, { reason: 'BackendDenied' }],
        [{ kind: 'rateLimited', seconds: 17 }, { retryAfterSeconds: 17 }],
        [{ kind: 'unavailable', seconds: 18 }, { retryAfterSeconds: 18 }],
      ]
      for (const [trouble, members] of rows) {
        bench.operator.inject?.('createAddress', trouble)
        expectRefusal(await bench.create('claim-1'), { ...members, retryable: true }, trouble.kind)
      }
    },
  },
  'trouble: what was created without an answer is found by its marker': {
    if: ({ marker }) => marker === 'atomic',
    needs: 'troubles',
    run: async (bench) => {
      bench.operator.inject?.('createAddress', 'lostAnswer')
      expectRefusal(await bench.create('claim-1'), { retryable: true, nothingDone: undefined }, 'createAddress')
      expectEqual(
        (await bench.list()).map(({ marker }) => marker),
        [bench.marker('claim-1')],
        'the markers',
      )
    },
  },
  'trouble: a mark and a deletion without an answer can be asked for again': {
    if: keepsMarkers,
    needs: 'troubles',
    run: async (bench) => {
      const created = await bench.created('claim-1')
      bench.operator.inject?.('markAddress', 'lostAnswer')
      const lost = { retryable: true, nothingDone: undefined }
      expectRefusal(await bench.mark(created.id, bench.marker('spare')), lost, 'markAddress')
      expectEqual((await bench.listed(created))?.marker, bench.marker('spare'), 'the marker')
      bench.operator.inject?.('deleteAddress', 'lostAnswer')
      expectRefusal(await bench.delete(created), lost, 'deleteAddress')
      expectAnswer(await bench.delete(created), 'deleteAddress')
    },
  },
  'trouble: an address outside of the network is named, and does not stay': {
    needs: 'troubles',
    run: async (bench) => {
      bench.operator.inject?.('createAddress', 'otherNetwork')
      const failure = expectRefusal(await bench.create('claim-1'), refused, 'createAddress')
      expectTrue(failure.message.includes('192.0.2.255'), `the address is in the message: ${failure.message}`)
      expectEqual(await bench.list(), [], 'the list')
    },
  },
  'trouble: a list that fails is a failure': {
    needs: 'troubles',
    run: async ({ cloud, pool, network, operator, uid }) => {
      operator.inject?.('listAddresses', 'down')
      const input = { ...pool, network: network.id, markers: [`${uid}/`], tags: [], addresses: [] }
      expectRefusal(await cloud.listAddresses(input), { retryable: true }, 'listAddresses')
    },
  },
} satisfies Rules

type Rules = { readonly [name: string]: CloudRule }

/** The rules of the contract by their names. */
export const cloudRules: Rules = { ...networks, ...creation, ...marking, ...deletion, ...listing, ...troubles }
