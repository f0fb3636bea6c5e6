import { expect, it, vi } from 'vitest'
import { admitMetal3IPPool, IPPool } from '../../../src/crd/metal3/index.js'

const parses = vi.hoisted(() => ({ count: 0 }))

vi.mock('../../../src/cidr/nouns/address.js', async (original) => {
  const actual = await original<typeof import('../../../src/cidr/nouns/address.js')>()
  const safeParse: typeof actual.safeParse = (text) => {
    parses.count++
    return actual.safeParse(text)
  }
  return { ...actual, safeParse }
})

it.each([['CREATE'], ['UPDATE']] as const)(
  'reads each entry and each kept address of a metal3 pool a fixed number of times: %s',
  (operation) => {
    const texts = Array.from({ length: 300 }, (_, index) => `10.0.${index >> 7}.${(index & 127) * 2}`)
    const named = Object.fromEntries(texts.map((text, index) => [`claim-${index}`, text]))
    const pool = (namePrefix: string, more: object = {}) =>
      IPPool.parse({
        apiVersion: 'ipam.metal3.io/v1alpha1',
        kind: 'IPPool',
        metadata: { name: 'blue' },
        spec: { namePrefix, pools: texts.map((text) => ({ start: text, end: text, ...more })), preAllocations: named },
        status: { indexes: named },
      })
    parses.count = 0
    const oldObject = pool('blue')
    const object = pool('blue', { prefix: 24 })

    expect(admitMetal3IPPool({ operation, object, oldObject })).toEqual({ allowed: true, warnings: [] })
    expect(parses.count).toBeGreaterThan(300)
    expect(parses.count).toBeLessThan(300 * 30)
  },
)
