import { type Change, Sightings } from 'ipam-kit/plan'
import { expect, test } from 'vitest'

const ref = { apiVersion: 'example.com/v1', kind: 'Thing', namespace: 'default', name: 'x' }
const present = (uid: string | undefined, resourceVersion?: string): Change => ({
  kind: 'present',
  object: {
    apiVersion: ref.apiVersion,
    kind: ref.kind,
    metadata: { name: 'x', namespace: 'default', uid, resourceVersion },
  },
})
const absent = (uid?: string): Change => ({ kind: 'absent', ref, uid })

function news(...changes: readonly Change[]): boolean[] {
  const sightings = new Sightings()
  return changes.map((change) => sightings.isNews(change))
}

test.each<[string, readonly Change[], boolean[]]>([
  ['a first sight is news, and so is the same again', [present('a', '5'), present('a', '5')], [true, true]],
  ['an older version is none', [present('a', '10'), present('a', '9')], [true, false]],
  ['versions are numbers, not texts', [present('a', '9'), present('a', '10')], [true, true]],
  ['versions that are no numbers are taken as they come', [present('a', 'x2'), present('a', 'x1')], [true, true]],
  ['a missing version is taken as it comes', [present('a', '5'), present('a')], [true, true]],
  ['what went does not come back', [present('a', '5'), absent('a'), present('a', '6')], [true, true, false]],
  [
    'an end without a uid is believed until it is seen again',
    [present('a', '5'), absent(), present('a', '5')],
    [true, true, true],
  ],
  ['but not for an older version', [present('a', '5'), absent(), present('a', '4')], [true, true, false]],
  [
    'a sight without a uid ends nothing',
    [present('a', '5'), present(undefined, '6'), present('a', '7')],
    [true, true, true],
  ],
  ['another one of the name is news', [present('a', '5'), absent('a'), present('b', '7')], [true, true, true]],
  ['the late end of an earlier one is none', [present('b', '7'), absent('a')], [true, false]],
  [
    'and after it the earlier one stays gone',
    [present('b', '7'), absent('a'), present('a', '8')],
    [true, false, false],
  ],
  [
    'one that was replaced unseen stays gone',
    [present('a', '5'), present('b', '7'), present('a', '8')],
    [true, true, false],
  ],
  ['an end is news, also of what was never seen', [absent('a'), absent()], [true, true]],
])('%s', (_, changes, expected) => {
  expect(news(...changes)).toEqual(expected)
})

test('objects of other namespaces, names and groups are other objects', () => {
  const sightings = new Sightings()
  sightings.isNews(present('a', '10'))
  for (const change of [{ namespace: 'other' }, { name: 'y' }, { apiVersion: 'example.org/v1' }]) {
    const { apiVersion, kind, ...metadata } = { ...ref, ...change }
    const object = { apiVersion, kind, metadata: { ...metadata, uid: JSON.stringify(change), resourceVersion: '1' } }
    expect(sightings.isNews({ kind: 'present', object })).toBe(true)
  }
})

test('that a uid is not under another name says nothing of the object that has it', () => {
  const sightings = new Sightings()
  const misnamed: Change = { kind: 'absent', ref: { ...ref, name: 'y' }, uid: 'a', confirmed: true }
  expect([misnamed, present('a', '5'), misnamed, present('a', '6')].map((it) => sightings.isNews(it))).toEqual([
    true,
    true,
    true,
    true,
  ])
})

test('only so many are remembered, and clear() forgets all', () => {
  const sightings = new Sightings()
  for (let i = 0; i <= 10_000; i++) sightings.isNews(absent(`uid-${i}`))
  expect(sightings.isNews(present('uid-0', '1'))).toBe(true)
  expect(sightings.isNews(present('uid-10000', '2'))).toBe(false)
  sightings.clear()
  expect(sightings.isNews(present('uid-10000', '1'))).toBe(true)
})
