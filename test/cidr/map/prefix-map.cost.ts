import { Prefix, PrefixMap } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'
import { collectGarbage, msOf } from '../../setup/cost.js'

const inside = Prefix.parse('10.1.0.0/16')

/** Puts something into a map, and keeps no hold on it. */
function fill(map: PrefixMap<object>, prefix: Prefix): WeakRef<object> {
  const value = { large: new Array(1000).fill(prefix) }
  map.set(prefix, value)
  return new WeakRef(value)
}

/** Whether it is still there after a collection. */
async function isKept(reference: WeakRef<object>): Promise<boolean> {
  await collectGarbage()
  return reference.deref() !== undefined
}

describe.each([
  ['few', 2],
  ['many', 1000],
])('a map of %s entries', (_, count) => {
  const mapOf = () => {
    const map = new PrefixMap<object>()
    for (let i = 0; i < count; i++) map.set(Prefix.of({ family: 4, value: 0x0a000000 + i * 0x1000 }, 20), {})
    return map
  }

  test.each<[about: string, drop: (map: PrefixMap<object>) => unknown]>([
    ['deleted', (map) => map.delete(inside)],
    ['replaced', (map) => map.set(inside, {})],
    ['cleared', (map) => map.clear()],
  ])('lets go of a value that is %s', async (_, drop) => {
    const map = mapOf()
    const value = fill(map, inside)
    expect(await isKept(value)).toBe(true)
    drop(map)
    expect(await isKept(value)).toBe(false)
    expect(map.has(Prefix.parse('10.0.0.0/20'))).toBe(map.size > 1)
  })
})

test('the message costs nothing, however large what was given is', () => {
  const many = new Array(3e6).fill(0)
  const named = Object.fromEntries(many.slice(0, 200_000).map((zero, i) => [`n${i}`, zero]))
  for (const given of [many, named]) {
    const ms = msOf(() => {
      for (let i = 0; i < 20; i++) {
        const asked = () => new PrefixMap().get(given as unknown as Prefix)
        expect(asked).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
      }
    })
    expect(ms).toBeLessThan(200)
  }
})
