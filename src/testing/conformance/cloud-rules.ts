import { MAX_MARKER } from '../../provider/external/cloud.js'
import type { CloudTrouble } from '../cloud/troubles.js'
import { type CloudBench, type CloudFeature, expectAnswer, expectRefusal } from './cloud-bench.js'
import { expectEqual, expectTrue } from './harness.js'

/** A rule, and the feature that it needs. */
export interface CloudRule {
  readonly needs?: CloudFeature
  readonly run: (bench: CloudBench) => Promise<void>
}

const UNKNOWN = '7d2f5f0a-0d3b-4f53-9f7d-0c7f0c1f9e99'
/** A changed or attached address: the pool looks again, and repeats the call later. */
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
  'create: sets the marker in the same call': {
    run: async (bench) => {
      const created = await bench.created('claim-1')
      expectEqual(created.marker, bench.marker('claim-1'), 'the marker in the answer')
      expectEqual((await bench.listed(created))?.marker, bench.marker('claim-1'), 'the marker in the list')
    },
  },
  'create, mark: the longest marker, and all its characters': {
    run: async (bench) => {
      const first = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ-._'
      const [created] = [await bench.created(first)]
      const longest = bench.marker('abcdefghijklmnopqrstuvwxyz0123456789'.repeat(2)).slice(0, MAX_MARKER)
      for (const marker of [bench.marker(first), longest]) {
        const marked = await bench.marked((await bench.listed(created)) ?? created, marker)
        expectEqual([marked.marker, (await bench.listed(created))?.marker], [marker, marker], 'answer and list')
      }
      const second = await bench.created(longest.slice(bench.marker('').length))
      expectEqual((await bench.listed(second))?.marker, longest, 'the list after a creation')
    },
  },
  'create: in a network that does not exist, nothing is done': {
    run: async (bench) => {
      const input = { ...bench.pool, network: UNKNOWN, marker: bench.marker('claim-1') }
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
    run: async (bench) => {
      let seen = await bench.created('claim-1')
      for (const marker of [bench.marker('spare'), bench.marker('claim-2'), bench.marker('claim-2'), '']) {
        seen = await bench.marked(seen, marker)
        expectEqual([seen.marker, (await bench.listed(seen))?.marker], [marker, marker], 'the answer and the list')
      }
    },
  },
  'mark: replaces the marker of an earlier id of the pool': {
    run: async (bench) => {
      const earlier = await bench.marked(await bench.created('claim-1'), `${UNKNOWN}/spare`)
      expectEqual((await bench.marked(earlier, bench.marker('spare'))).marker, bench.marker('spare'), 'the answer')
    },
  },
  'mark: an address with another marker than the seen one stays': {
    run: async (bench) => {
      const seen = await bench.created('claim-1')
      const changed = await bench.marked(seen, `${UNKNOWN}/claim-9`)
      for (const marker of [bench.marker('claim-1'), '']) {
        expectRefusal(await bench.mark({ ...changed, marker }, bench.marker('deleting')), refused, 'markAddress')
      }
      expectEqual((await bench.listed(seen))?.marker, changed.marker, 'the marker in the list')
    },
  },
  'mark: an address with another revision than the seen one stays': {
    run: async (bench) => {
      const { seen, changed } = await changedTwice(bench)
      if (seen.revision === undefined) return
      expectRefusal(await bench.mark(seen, bench.marker('deleting')), refused, 'markAddress')
      expectEqual((await bench.listed(seen))?.marker, changed.marker, 'the marker in the list')
    },
  },
  'mark: keeps the tags of others': {
    needs: 'tags',
    run: async (bench) => {
      let seen = await bench.foreign(['of-others'])
      for (const marker of [bench.marker('claim-1'), '']) {
        seen = await bench.marked(seen, marker)
        const listed = await bench.listed(seen)
        expectEqual([listed?.marker, listed?.tags], [marker, ['of-others']], 'marker and tags')
      }
    },
  },
  'mark: an address that does not exist is a failure': {
    run: async (bench) => {
      const unknown = { ...(await bench.created('claim-1')), id: UNKNOWN }
      expectRefusal(await bench.mark(unknown, bench.marker('claim-1')), refused, 'markAddress')
    },
  },
} satisfies Rules

/** An address as it was seen, and after two changes: it has the same marker. */
async function changedTwice(bench: CloudBench) {
  const seen = await bench.created('claim-1')
  const changed = await bench.marked(await bench.marked(seen, bench.marker('spare')), seen.marker)
  if (seen.revision !== undefined) expectTrue(changed.revision !== seen.revision, 'each change has another revision')
  return { seen, changed }
}

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
      expectAnswer(await bench.delete({ ...created, id: UNKNOWN }), 'deleteAddress')
    },
  },
  'delete: an address with another marker than the seen one stays': {
    run: async (bench) => {
      const seen = await bench.marked(await bench.created('claim-1'), bench.marker('deleting'))
      const changed = await bench.marked(seen, bench.marker('claim-2'))
      expectRefusal(await bench.delete({ ...changed, marker: seen.marker }), refused, 'deleteAddress')
      expectEqual((await bench.listed(seen))?.marker, changed.marker, 'the marker in the list')
    },
  },
  'delete: an address with another revision than the seen one stays': {
    run: async (bench) => {
      const { seen, changed } = await changedTwice(bench)
      if (seen.revision === undefined) return
      expectRefusal(await bench.delete(seen), refused, 'deleteAddress')
      expectEqual((await bench.listed(seen))?.id, seen.id, 'the list')
      expectAnswer(await bench.delete(changed), 'deleteAddress')
    },
  },
  'delete: one that is attached stays': {
    needs: 'attachments',
    run: async (bench) => {
      const created = await bench.created('claim-1')
      await bench.operator.attach?.(created.id)
      const attached = (await bench.listed(created)) ?? created
      expectEqual(attached.isAttached, true, 'isAttached')
      for (const seen of [created, attached]) expectRefusal(await bench.delete(seen), refused, 'deleteAddress')
      expectEqual((await bench.listed(created))?.id, created.id, 'the list')
    },
  },
} satisfies Rules

const listing = {
  'list: all with a marker of the pool, and all that are named': {
    run: async (bench) => {
      const other = await bench.foreign()
      const created = [await bench.created('claim-1'), await bench.created('claim-2')]
      const earlier = await bench.marked(await bench.created('claim-3'), `${UNKNOWN}/claim-3`)
      for (let i = 0; i < 2; i++) {
        const found = await bench.list({ markers: [`${bench.uid}/`, `${UNKNOWN}/`] })
        for (const { id, marker } of [...created, earlier]) {
          const markers = found.filter((it) => it.id === id).map((it) => it.marker)
          expectEqual(markers, [marker], 'the markers of a listed address')
        }
      }
      expectEqual((await bench.listed(other))?.id, other.id, 'one that is named by its address')
    },
  },
  'list: the revision of an address is that of its last change': {
    run: async (bench) => {
      const { changed } = await changedTwice(bench)
      const listed = await bench.listed(changed)
      expectEqual(listed?.marker, changed.marker, 'the marker')
      if (listed !== undefined) expectAnswer(await bench.delete(listed), 'deleteAddress')
    },
  },
  'list: by tag': {
    needs: 'tags',
    run: async (bench) => {
      const mine = await bench.foreign(['mine'])
      const found = await bench.list({ tags: ['mine'] })
      expectTrue(
        found.some(({ id }) => id === mine.id),
        'an address with the tag is listed',
      )
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
  'trouble: a mark and a deletion without an answer can be looked for, and repeated': {
    needs: 'troubles',
    run: async (bench) => {
      const created = await bench.created('claim-1')
      bench.operator.inject?.('markAddress', 'lostAnswer')
      const lost = { retryable: true, nothingDone: undefined }
      expectRefusal(await bench.mark(created, bench.marker('spare')), lost, 'markAddress')
      const marked = (await bench.listed(created)) ?? created
      expectEqual(marked.marker, bench.marker('spare'), 'the marker')
      bench.operator.inject?.('deleteAddress', 'lostAnswer')
      expectRefusal(await bench.delete(marked), lost, 'deleteAddress')
      expectAnswer(await bench.delete(marked), 'deleteAddress')
    },
  },
  'trouble: a marker that is not stored is a failure that is not retryable, and no address stays': {
    needs: 'troubles',
    run: async (bench) => {
      bench.operator.inject?.('createAddress', 'noMarker')
      expectRefusal(await bench.create('claim-1'), { retryable: false, nothingDone: true }, 'createAddress')
      expectEqual(await bench.list(), [], 'the list')
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

/** The rules of the interface by their names. */
export const cloudRules: Rules = { ...networks, ...creation, ...marking, ...deletion, ...listing, ...troubles }
