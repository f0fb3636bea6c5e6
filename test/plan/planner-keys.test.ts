import { describe, expect, it } from 'vitest'
import { nameKey, readNameKey } from '../../src/crd/meta/object.js'
import { plannerKeys } from '../../src/plan/planner-keys.js'

const KEYS = plannerKeys('Service', 'ServiceCIDR')

describe('plannerKeys', () => {
  it('reads what it writes, with and without a namespace', () => {
    const key = KEYS.format('Service', { namespace: 'default', name: 'web' })
    expect(key).toBe('Service default/web')
    expect(KEYS.read(key)).toEqual({ kind: 'Service', name: 'default/web' })
    expect(KEYS.format('Service', 'default/web')).toBe(key)
    expect(KEYS.read(KEYS.format('ServiceCIDR', { name: 'a' }))).toEqual({ kind: 'ServiceCIDR', name: 'a' })
  })

  it('reads no key of another planner', () => {
    for (const key of ['Pod a', 'Services a', 'Service', 'a', '']) expect(KEYS.read(key)).toBeUndefined()
  })
})

it('readNameKey reads what nameKey writes', () => {
  for (const ref of [{ name: 'a' }, { namespace: 'n', name: 'a' }]) expect(readNameKey(nameKey(ref))).toEqual(ref)
})
