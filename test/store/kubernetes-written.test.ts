import { describe, expect, it } from 'vitest'
import { Written } from '../../src/store/kubernetes/written.js'

const object = (uid: string, resourceVersion: string, apiVersion = 'v1') => ({
  apiVersion,
  kind: 'Node',
  metadata: { name: 'n', uid, resourceVersion },
})

describe('Written', () => {
  it('knows which object the version of a write is one of', () => {
    const written = new Written()
    written.note('Node n', object('u', '5'))
    expect(written.isOf('Node n', 'v1', { uid: 'u', resourceVersion: '5' })).toBe(true)
    expect(written.isOf('Node n', 'v1', { uid: 'other', resourceVersion: '5' })).toBe(false)
    expect(written.isOf('Node n', 'v1', { uid: 'u', resourceVersion: '6' })).toBe(false)
    expect(written.isOf('Node m', 'v1', { uid: 'u', resourceVersion: '5' })).toBe(false)
    expect(written.isOf('Node n', 'other/v1', { uid: 'u', resourceVersion: '5' })).toBe(false)
    expect(written.isOf('Node n', 'v1', { uid: 'u' })).toBe(false)
    expect(written.isOf('Node n', 'v1', { resourceVersion: '7' })).toBe(false)
  })

  it('forgets the oldest', () => {
    const written = new Written()
    for (let version = 1; version <= 5000; version++) written.note('Node n', object('u', String(version)))
    const known = Array.from({ length: 5000 }, (_, index) => String(index + 1)).filter((resourceVersion) =>
      written.isOf('Node n', 'v1', { uid: 'u', resourceVersion }),
    )
    expect(known).toHaveLength(4096)
    expect(known[0]).toBe('905')
  })
})
