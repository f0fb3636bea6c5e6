import { describe, expect, it } from 'vitest'
import type { SqlEngine } from '../../src/store/sql/engine.js'

/** A database with the tables of a store and nothing in them. */
export interface SqlUnderTest {
  engine(history?: number): SqlEngine
  /** All values as texts. `$` stands for the names of the tables up to the noun: `$head`. */
  rows(sql: string): Promise<readonly { readonly [column: string]: unknown }[]>
}

const KEY = { group: 'g', kind: 'K', namespace: 'ns', name: 'a' }
const SCOPE = { group: 'g', kind: 'K' }

const write = async (engine: SqlEngine, count: number, from = 0) => {
  for (let i = from; i < from + count; i++) {
    await engine.commit({ key: { ...KEY, name: `n${i}` }, before: undefined, after: `${i}` })
  }
}

/** What all engines on SQL do. */
export function sqlEngineTests(open: () => SqlUnderTest): void {
  const newEngine = (history?: number) => open().engine(history)
  const rows = (sql: string) => open().rows(sql)
  const head = async () => {
    const [row] = await rows('select cast(revision as text) as revision, cast(oldest as text) as oldest from $head')
    return [Number(row!.revision), Number(row!.oldest)]
  }

  describe('a commit', () => {
    it('is one revision, and the change with what was and what is', async () => {
      const engine = newEngine()
      expect(await engine.commit({ key: KEY, before: undefined, after: 'one' })).toEqual({
        kind: 'done',
        revision: '1',
      })
      const first = { text: 'one', revision: '1' }
      expect(await engine.read(KEY)).toEqual(first)
      expect(await engine.commit({ key: KEY, before: first, after: 'two' })).toEqual({ kind: 'done', revision: '2' })
      const second = { text: 'two', revision: '2' }
      expect(await engine.commit({ key: KEY, before: second, after: undefined })).toEqual({
        kind: 'done',
        revision: '3',
      })
      expect(await engine.read(KEY)).toBeUndefined()
      expect(await engine.changes(SCOPE, '0', 10)).toEqual({
        kind: 'page',
        changes: [
          { revision: '1', before: undefined, after: 'one' },
          { revision: '2', before: 'one', after: 'two' },
          { revision: '3', before: 'two', after: undefined },
        ],
        revision: '3',
        hasMore: false,
      })
    })

    it('keeps long texts whole, in the log too', async () => {
      const engine = newEngine()
      // texts that cannot be made much shorter
      const long = (seed: number) =>
        Array.from({ length: 100_000 }, (_, i) => Math.imul(i + seed, 0x9e3779b1).toString(36)).join('')
      const [one, two] = [long(1), long(2)]
      await engine.commit({ key: KEY, before: undefined, after: one })
      await engine.commit({ key: KEY, before: { text: one, revision: '1' }, after: two })
      expect((await engine.read(KEY))?.text === two).toBe(true)
      await engine.commit({ key: KEY, before: { text: two, revision: '2' }, after: undefined })
      const page = await engine.changes(SCOPE, '0', 10)
      const told = page.kind === 'page' && page.changes.map(({ before, after }) => [before, after])
      const expected = [
        [undefined, one],
        [one, two],
        [two, undefined],
      ]
      expect(JSON.stringify(told) === JSON.stringify(expected)).toBe(true)
    })

    it('of which a watch hears even with the shortest history', async () => {
      const engine = newEngine(1)
      let end = () => {}
      const stop = { isStopped: false, onStop: (callback: () => void) => (end = callback) }
      const events = engine.follow(SCOPE, undefined, stop)[Symbol.asyncIterator]()
      expect((await events.next()).value).toEqual({ kind: 'at', revision: '0' })
      for (let i = 0; i < 5; i++) {
        const next = events.next()
        await write(engine, 1, i)
        expect((await next).value).toMatchObject({ kind: 'change', revision: `${i + 1}` })
      }
      stop.isStopped = true
      end()
    })

    it('without the row of the head is refused', async () => {
      const engine = newEngine()
      await write(engine, 1)
      const before = await engine.read({ ...KEY, name: 'n0' })
      await rows('delete from $head')
      const refused = { kind: 'refused', problem: expect.stringMatching(/./) }
      expect(await engine.commit({ key: KEY, before: undefined, after: 'one' })).toMatchObject(refused)
      for (const after of ['two', undefined])
        expect(await engine.commit({ key: { ...KEY, name: 'n0' }, before, after })).toMatchObject(refused)
      expect(await engine.read({ ...KEY, name: 'n0' })).toEqual(before)
      const problem = /_head" is missing.*restore/
      await expect(engine.scan(SCOPE, {})).rejects.toThrow(problem)
      await expect(engine.changes(SCOPE, undefined, 10)).rejects.toThrow(problem)
      await expect(engine.changes(SCOPE, '0', 10)).rejects.toThrow(problem)
    })

    it('that is stale does nothing, not even to the head', async () => {
      const engine = newEngine()
      await engine.commit({ key: KEY, before: undefined, after: 'one' })
      const stale = [
        { before: undefined, after: 'x' },
        { before: { text: 'one', revision: '2' }, after: 'x' },
        { before: { text: 'one', revision: '2' }, after: undefined },
      ]
      for (const change of stale) expect(await engine.commit({ key: KEY, ...change })).toEqual({ kind: 'stale' })
      const other = { ...KEY, name: 'b' }
      const gone = { key: other, before: { text: 'one', revision: '1' } }
      expect(await engine.commit({ ...gone, after: 'x' })).toEqual({ kind: 'stale' })
      expect(await engine.commit({ ...gone, after: undefined })).toEqual({ kind: 'stale' })
      expect(await head()).toEqual([1, 0])
      expect(await rows('select * from $changes')).toHaveLength(1)
      expect(await engine.read(KEY)).toEqual({ text: 'one', revision: '1' })
    })
  })

  describe('documents', () => {
    it('are listed in code-unit order, page by page', async () => {
      const engine = newEngine()
      const places = ['a', 'a-b', 'a.b', 'a0', 'ab', 'b'].flatMap((namespace) =>
        ['x', 'x-y', 'x.y', 'x0', 'xy'].map((name) => ({ namespace, name })),
      )
      for (const place of places.toReversed()) {
        await engine.commit({ key: { ...KEY, ...place }, before: undefined, after: JSON.stringify(place) })
      }
      await engine.commit({ key: { ...KEY, kind: 'Other' }, before: undefined, after: 'other' })
      const all = await engine.scan(SCOPE, {})
      expect(all.documents.map(({ text }) => JSON.parse(text))).toEqual(places)
      expect([all.revision, all.hasMore]).toEqual(['31', false])
      const paged: unknown[] = []
      for (let after: { namespace: string; name: string } | undefined; ; ) {
        const page = await engine.scan(SCOPE, { after, limit: 7 })
        paged.push(...page.documents.map(({ text }) => JSON.parse(text)))
        expect(page.hasMore).toBe(paged.length < places.length)
        if (!page.hasMore) break
        after = paged.at(-1) as typeof after
      }
      expect(paged).toEqual(places)
      const inNamespace = await engine.scan({ ...SCOPE, namespace: 'a-b' }, { after: places[6], limit: 2 })
      expect(inNamespace.documents.map(({ text }) => JSON.parse(text))).toEqual(places.slice(7, 9))
      expect((await engine.scan({ ...SCOPE, namespace: 'a-b' }, { after: places[12] })).documents).toEqual([])
    })

    it('that are none are listed with the revision of the store', async () => {
      const engine = newEngine()
      expect(await engine.scan(SCOPE, {})).toEqual({ documents: [], revision: '0', hasMore: false })
      await engine.commit({ key: KEY, before: undefined, after: 'one' })
      expect(await engine.scan({ ...SCOPE, kind: 'L' }, {})).toEqual({ documents: [], revision: '1', hasMore: false })
      expect(await engine.scan(SCOPE, { limit: 1 })).toMatchObject({ revision: '1', hasMore: false })
    })

    it('have revisions beyond 2^53', async () => {
      await rows('update $head set revision = 9223372036854775000, oldest = 9223372036854774000')
      const engine = newEngine()
      const made = await engine.commit({ key: KEY, before: undefined, after: 'one' })
      expect(made).toEqual({ kind: 'done', revision: '9223372036854775001' })
      expect(await engine.read(KEY)).toEqual({ text: 'one', revision: '9223372036854775001' })
      const changed = await engine.commit({
        key: KEY,
        before: { text: 'one', revision: '9223372036854775001' },
        after: 'two',
      })
      expect(changed).toEqual({ kind: 'done', revision: '9223372036854775002' })
      expect(await engine.changes(SCOPE, '9223372036854775001', 10)).toMatchObject({
        changes: [{ revision: '9223372036854775002' }],
        revision: '9223372036854775002',
      })
    })
  })

  describe('changes', () => {
    it('are of a kind, and a namespace if there is one', async () => {
      const engine = newEngine()
      for (const part of [{}, { kind: 'L' }, { group: 'h' }, { namespace: 'x' }]) {
        await engine.commit({ key: { ...KEY, ...part }, before: undefined, after: JSON.stringify(part) })
      }
      const texts = async (scope: object) => {
        const page = await engine.changes({ ...SCOPE, ...scope }, '0', 10)
        return page.kind === 'page' && [page.changes.map(({ after }) => after), page.revision]
      }
      expect(await texts({})).toEqual([['{}', '{"namespace":"x"}'], '4'])
      expect(await texts({ namespace: 'x' })).toEqual([['{"namespace":"x"}'], '4'])
      expect(await texts({ namespace: 'ns' })).toEqual([['{}'], '4'])
      expect(await texts({ kind: 'M' })).toEqual([[], '4'])
    })

    it('come in parts, each whole up to its revision', async () => {
      const engine = newEngine()
      await write(engine, 5)
      const first = await engine.changes(SCOPE, '1', 2)
      expect(first).toMatchObject({ changes: [{ revision: '2' }, { revision: '3' }], revision: '3', hasMore: true })
      const last = await engine.changes(SCOPE, '3', 2)
      expect(last).toMatchObject({ changes: [{ revision: '4' }, { revision: '5' }], revision: '5', hasMore: false })
      expect(await engine.changes(SCOPE, '5', 2)).toMatchObject({ changes: [], revision: '5', hasMore: false })
      expect(await engine.changes(SCOPE, undefined, 2)).toMatchObject({ changes: [], revision: '5' })
    })

    it('that are long come in smaller parts', async () => {
      const engine = newEngine()
      const texts = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(6_000_000))
      for (const [i, after] of texts.entries()) {
        const before = i === 0 ? undefined : { text: texts[i - 1]!, revision: `${i}` }
        await engine.commit({ key: KEY, before, after })
      }
      const revisions = async (after: string, limit: number) => {
        const page = await engine.changes(SCOPE, after, limit)
        return page.kind === 'page' && [page.changes.map(({ revision }) => revision), page.revision, page.hasMore]
      }
      // 6, 12, 12 and 12 million characters
      expect(await revisions('0', 500)).toEqual([['1', '2'], '2', true])
      expect(await revisions('0', 1)).toEqual([['1'], '1', true])
      expect(await revisions('2', 500)).toEqual([['3', '4'], '4', false])
      // one is never too much
      await engine.commit({ key: { ...KEY, name: 'b' }, before: undefined, after: 'x'.repeat(20_000_000) })
      await engine.commit({ key: { ...KEY, name: 'c' }, before: undefined, after: 'x' })
      expect(await revisions('4', 500)).toEqual([['5'], '5', true])
      expect(await revisions('5', 500)).toEqual([['6'], '6', false])
    })

    it('that are too old or not yet there are gone', async () => {
      const engine = newEngine()
      await write(engine, 3)
      for (const after of ['4', '9223372036854775807', '9223372036854775808', '9999999999999999999']) {
        expect(await engine.changes(SCOPE, after, 10), after).toEqual({ kind: 'gone', oldest: '0' })
      }
      await rows('update $head set oldest = 2')
      expect(await engine.changes(SCOPE, '1', 10)).toEqual({ kind: 'gone', oldest: '2' })
      expect(await engine.changes(SCOPE, '2', 10)).toMatchObject({ changes: [{ revision: '3' }] })
    })

    it.each([
      [1, 1],
      [2, 1],
      [19, 1],
      [20, 2],
      [30, 3],
    ])('of a history of %i are kept, and at most %i more', async (history, slack) => {
      const engine = newEngine(history)
      for (let i = 0; i < 45; i++) {
        await write(engine, 1, i)
        const [revision, oldest] = (await head()) as [number, number]
        expect(revision).toBe(i + 1)
        expect(revision - oldest).toBeGreaterThanOrEqual(Math.min(history, revision))
        expect(revision - oldest).toBeLessThan(history + slack)
        const [kept] = await rows(
          'select cast(count(*) as text) as count, cast(min(revision) as text) as first from $changes',
        )
        expect(kept).toEqual({ count: `${revision - oldest}`, first: `${oldest + 1}` })
        expect(await engine.changes(SCOPE, String(oldest), 1000)).toMatchObject({
          kind: 'page',
          revision: `${revision}`,
        })
      }
    })
  })
}
