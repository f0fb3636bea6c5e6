import { Ledger, type LedgerEntry } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

const space = RangeSet.parse(['10.0.0.8-10.0.0.11', 'fd00::/126'])
const entry = (text: string, reason: LedgerEntry['reason'] = 'held', key = 'a', rest: Partial<LedgerEntry> = {}) => ({
  prefix: Prefix.parse(text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`),
  reason,
  holder: { key },
  ...rest,
})
const shown = (entries: readonly LedgerEntry[]) => entries.map(({ prefix }) => Prefix.format(prefix))
const next = (ledger: Ledger, query: Parameters<Ledger['next']>[0] = {}) => {
  const found = ledger.next(query)
  return found && Prefix.format(found)
}

describe('Ledger', () => {
  test('lists its entries in order, IPv4 first, wide before narrow, then by holder', () => {
    const ledger = new Ledger({ space })
    ledger.set('1', entry('fd00::1'))
    ledger.set('2', entry('10.0.0.9', 'held', 'b'))
    ledger.set('3', entry('10.0.0.9'))
    ledger.set('4', entry('10.0.0.9/30', 'foreign', 'z'))
    expect(shown(ledger.entries())).toEqual(['10.0.0.8/30', '10.0.0.9/32', '10.0.0.9/32', 'fd00::1/128'])
    expect(ledger.entries().map(({ holder }) => holder.key)).toEqual(['z', 'a', 'b', 'a'])
    expect(shown(ledger.holders(Prefix.parse('10.0.0.9/32')))).toEqual(['10.0.0.8/30', '10.0.0.9/32', '10.0.0.9/32'])
  })

  test('keeps an entry as it was when it was set', () => {
    const ledger = new Ledger({ space })
    const given = { ...entry('10.0.0.9'), sinceMs: 5 }
    ledger.set('1', given)
    given.sinceMs = 6
    expect(ledger.get('1')).toEqual({ ...entry('10.0.0.9'), sinceMs: 5 })
    expect(ledger.get('2')).toBeUndefined()
  })

  test('gives a holder what is kept for it, what it had last, and then any other address', () => {
    const ledger = new Ledger({ space })
    ledger.set('1', entry('10.0.0.11', 'former', 'a'))
    ledger.set('2', entry('10.0.0.10', 'former', 'a'))
    ledger.set('3', entry('fd00::3', 'kept', 'a'))
    expect([next(ledger, { for: 'a' }), next(ledger, { for: 'b' })]).toEqual(['fd00::3/128', '10.0.0.8/32'])
    ledger.set('4', entry('fd00::3', 'pending', 'x'))
    expect(next(ledger, { for: 'a' })).toBe('10.0.0.10/32')
    ledger.set('5', entry('10.0.0.10', 'held', 'x'))
    expect(next(ledger, { for: 'a' })).toBe('10.0.0.11/32')
    ledger.set('6', entry('10.0.0.11', 'cooldown', 'a'))
    expect(next(ledger, { for: 'a' })).toBe('10.0.0.8/32')
  })

  test('offers former addresses when nothing else is free, the oldest first', () => {
    const ledger = new Ledger({ space: RangeSet.parse(['10.0.0.8-10.0.0.10']) })
    ledger.set('1', entry('10.0.0.10', 'former', 'a'))
    ledger.set('2', entry('10.0.0.8', 'former', 'b'))
    expect([next(ledger), ledger.counts().free]).toEqual(['10.0.0.9/32', 3n])
    ledger.set('3', entry('10.0.0.9'))
    expect(next(ledger)).toBe('10.0.0.10/32')
    ledger.set('1', entry('10.0.0.10', 'former', 'a'))
    expect(next(ledger)).toBe('10.0.0.8/32')
  })

  test('ends what has cooled, and says when the next one has', () => {
    const ledger = new Ledger({ space })
    ledger.set('1', entry('10.0.0.8', 'cooldown', 'a', { untilMs: 20 }))
    ledger.set('2', entry('10.0.0.9', 'cooldown', 'a', { untilMs: 10 }))
    ledger.set('3', entry('10.0.0.10', 'cooldown'))
    ledger.set('4', entry('10.0.0.11', 'held', 'a', { untilMs: 1 }))
    expect([ledger.nextExpiryMs(), shown(ledger.expire(9))]).toEqual([10, []])
    expect(shown(ledger.expire(10))).toEqual(['10.0.0.9/32'])
    expect([next(ledger), ledger.nextExpiryMs()]).toEqual(['10.0.0.9/32', 20])
    expect(shown(ledger.expire(1e9))).toEqual(['10.0.0.8/32'])
    expect([ledger.nextExpiryMs(), ledger.counts()]).toMatchObject([undefined, { cooldown: 1, held: 1 }])
  })

  test('keeps its entries while the space changes', () => {
    const ledger = new Ledger({ space })
    ledger.set('1', entry('10.0.0.8'))
    ledger.setSpace({ space: RangeSet.parse(['10.0.0.12-10.0.0.13']) })
    expect(ledger.counts()).toMatchObject({ total: 2n, free: 2n, held: 1, outOfRange: 1 })
    ledger.setSpace({ space })
    expect(ledger.counts()).toMatchObject({ total: 8n, free: 7n, held: 1, outOfRange: 0 })
    expect(next(ledger)).toBe('10.0.0.9/32')
  })

  test('carves units of one length', () => {
    const ledger = new Ledger({ space: RangeSet.parse(['fd00::/48']), length: 64 })
    ledger.set('1', entry('fd00::7'))
    expect([next(ledger), ledger.counts().free]).toEqual(['fd00:0:0:1::/64', 65535n])
    expect(next(ledger, { from: Address.parse('fd00:0:0:5::1') })).toBe('fd00:0:0:6::/64')
  })

  test('skips what blocks a wide extent, however large that is', () => {
    const ledger = new Ledger({ space: RangeSet.parse(['fd00::/16']) })
    ledger.set('1', entry('fd00::/16', 'former'))
    ledger.set('2', entry('fd00::/17'))
    expect(next(ledger)).toBe('fd00:8000::/128')
    ledger.set('1', entry('fd00::/8', 'kept'))
    expect([next(ledger, { for: 'a' }), next(ledger)]).toEqual(['fd00:8000::/128', undefined])
  })

  test.each([
    ['a length that the family does not have', { space, length: 64 }, 'INVALID_PREFIX_LENGTH'],
    ['a length that is no whole number', { space, length: 1.5 }, 'INVALID_PREFIX_LENGTH'],
  ])('refuses %s', (_, spec, code) => {
    expect(() => new Ledger(spec)).toThrow(expect.objectContaining({ code }))
    const ledger = new Ledger({ space })
    expect(() => ledger.setSpace(spec)).toThrow(expect.objectContaining({ code }))
    // and stays as it was
    expect(ledger.counts().total).toBe(8n)
  })

  test('refuses what is no prefix, and stays as it was', () => {
    const ledger = new Ledger({ space })
    ledger.set('1', entry('10.0.0.8'))
    const wrong = { ...entry('10.0.0.9'), prefix: { address: Address.parse('10.0.0.9'), length: 33 } }
    expect(() => ledger.set('1', wrong)).toThrow(expect.objectContaining({ code: 'INVALID_PREFIX_LENGTH' }))
    expect(shown(ledger.entries())).toEqual(['10.0.0.8/32'])
  })

  test('refuses an entry by the name of the member that is wrong', () => {
    const ledger = new Ledger({ space })
    const set = (wrong: object) => () => ledger.set('1', { ...entry('10.0.0.8'), ...wrong } as LedgerEntry)
    expect(set({ reason: 'lost' })).toThrow('Ledger.set: argument entry.reason: expected one of held, pending, kept')
    expect(set({ holder: { key: 1 } })).toThrow('Ledger.set: argument entry.holder.key: expected a text')
    expect(set({ untilMs: 'now' })).toThrow('Ledger.set: argument entry.untilMs: expected a number')
  })
})

test('an entry is in conflict with a second holder of an extent around it', () => {
  const ledger = new Ledger({ space: RangeSet.parse(['10.0.0.0/28']) })
  const set = (id: string, text: string, key: string) =>
    ledger.set(id, { prefix: Prefix.parse(text), reason: 'held', holder: { key } })
  set('1', '10.0.0.9/32', 'm')
  set('2', '10.0.0.8/29', 'k')
  set('3', '10.0.0.8/32', 'k')
  set('4', '10.0.0.8/29', 'm')
  expect(ledger.conflicts()).toHaveLength(4)
})
