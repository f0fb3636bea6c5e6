import { Absences, ObjectCache, proofOfAbsence, type Watch } from 'ipam-kit/plan'
import { describe, expect, test } from 'vitest'

const kind = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true, statusSubresource: true } as const
const pods: Watch<string> = { ...kind, parse: ({ metadata }) => ({ ok: true, value: metadata.name }) }
const ref = { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'x' }

describe('an object that is missing', () => {
  test('is due when it is missing again after the grace period', () => {
    const absences = new Absences(60)
    const look = (seconds: number, ...missing: string[]) => {
      const { due, requeueAfterSeconds } = absences.look('block', missing, seconds * 1000)
      return [[...due], requeueAfterSeconds]
    }
    expect(look(0, 'a')).toEqual([[], 60])
    expect(look(30, 'a', 'b')).toEqual([[], 30])
    expect(look(59.5, 'a', 'b')).toEqual([[], 1])
    expect(look(60, 'a', 'b')).toEqual([['a'], 30])
    expect(look(90, 'a', 'b')).toEqual([['a', 'b'], undefined])
    expect(look(91)).toEqual([[], undefined])
  })

  test('is missed from the beginning again once it was there', () => {
    const absences = new Absences(60)
    absences.look('block', ['a', 'b'], 0)
    absences.look('block', ['b'], 50_000)
    const { due, requeueAfterSeconds } = absences.look('block', ['a', 'b'], 60_000)
    expect([[...due], requeueAfterSeconds]).toEqual([['b'], 60])
  })

  test('is due at a later time than the first look, also without a grace period', () => {
    const absences = new Absences(0)
    expect(absences.look('block', [7], 5)).toEqual({ due: new Set(), requeueAfterSeconds: 1 })
    expect(absences.look('other', [7], 5)).toEqual({ due: new Set(), requeueAfterSeconds: 1 })
    // a plan that is made again at the same time is the same
    expect(absences.look('block', [7], 5)).toEqual({ due: new Set(), requeueAfterSeconds: 1 })
    expect(absences.look('block', [7], 6)).toEqual({ due: new Set([7]), requeueAfterSeconds: undefined })
  })
})

describe('the proof of an absence', () => {
  test('is an effect that reads the store', () => {
    const absent = { ref, uid: 'u', uidAnnotation: 'example.com/uid' }
    expect(proofOfAbsence(absent, 'because')).toEqual([{ kind: 'absent', ...absent, why: 'because' }])
  })

  test('is not asked for again when the store has given it, for that uid', () => {
    const cache = new ObjectCache()
    const known = cache.open(pods)
    cache.apply({ kind: 'absent', ref, uid: 'u' })
    expect(proofOfAbsence({ ref, uid: 'u' }, '', known)).toHaveLength(1)
    cache.apply({ kind: 'absent', ref, uid: 'u', confirmed: true })
    expect(proofOfAbsence({ ref, uid: 'u' }, '', known)).toEqual([])
    expect(proofOfAbsence({ ref, uid: 'v' }, '', known)).toHaveLength(1)
    // an object of that name may come at any time
    expect(proofOfAbsence({ ref }, '', known)).toHaveLength(1)
  })
})
