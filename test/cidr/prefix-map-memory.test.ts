import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Prefix, PrefixMap } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const inside = Prefix.parse('10.1.0.0/16')

/** Puts something into a map, and keeps no hold on it. */
function fill(map: PrefixMap<object>, prefix: Prefix): WeakRef<object> {
  const value = { large: new Array(1000).fill(prefix) }
  map.set(prefix, value)
  return new WeakRef(value)
}

/** Whether it is still there after a collection. What a reference was made of, or asked for, stays until the next turn. */
async function isKept(reference: WeakRef<object>): Promise<boolean> {
  await setImmediate()
  collectGarbage()
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
