import type { Json } from 'ipam-kit/crd/meta'
import type { JsonPatch } from 'ipam-kit/store'
import { expect, test } from 'vitest'
import { toJson } from '../../src/store/rules/json.js'
import { applyJsonPatch, readJsonPatch } from '../../src/store/rules/json-patch.js'
import { bestMsOf } from '../setup/cost.js'

function unfolded(value: unknown): Json {
  const json = toJson(value, Number.POSITIVE_INFINITY)
  if (json.kind !== 'json') throw new Error(json.kind)
  return json.value!
}

test.each<[string, unknown, (i: number) => JsonPatch[number]]>([
  ['a large array', Array(100_000).fill(0), (i) => ({ op: 'replace', path: '/spec/0', value: i })],
  ['an array that grows', Array(100_000).fill(0), (i) => ({ op: 'add', path: '/spec/-', value: i })],
  [
    'a large object',
    Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 0])),
    (i) => ({ op: 'replace', path: `/spec/k${i}`, value: i }),
  ],
  [
    'an object that shrinks',
    Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 0])),
    (i) => ({ op: 'remove', path: `/spec/k${i}` }),
  ],
  [
    'an array that is moved',
    { a: Array(100_000).fill(0) },
    (i) => ({ op: 'move', from: `/spec/${'ab'[i % 2]}`, path: `/spec/${'ba'[i % 2]}` }),
  ],
])('copies %s once, however many operations change it', (_, spec, operation) => {
  const document = unfolded({ spec })
  // a thousand operations, for each of which the old one was copied, took a hundred times as long
  // as ten
  const best = (count: number) => {
    const read = readJsonPatch(unfolded(Array.from({ length: count }, (_, i) => operation(i))))
    if (!read.ok) throw new Error(read.at.problem)
    return bestMsOf(() => expect(applyJsonPatch(document, read.value, 1e9)).toHaveProperty('value'), 5)
  }
  expect(best(1000) / best(10)).toBeLessThan(10)
})
