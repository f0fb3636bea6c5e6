import { describe, expect, it } from 'vitest'
import { RecentWrites } from '../../src/store/kubernetes/recent-writes.js'

const object = (uid: string, resourceVersion: string, apiVersion = 'v1') => ({
  apiVersion,
  kind: 'Node',
  metadata: { name: 'n', uid, resourceVersion },
})

describe('RecentWrites', () => {
  it('knows which object the version of a write is one of', () => {
    const writes = new RecentWrites()
    writes.note('Node n', object('u', '5'))
    expect(writes.isOf('Node n', 'v1', { uid: 'u', resourceVersion: '5' })).toBe(true)
    expect(writes.isOf('Node n', 'v1', { uid: 'other', resourceVersion: '5' })).toBe(false)
    expect(writes.isOf('Node n', 'v1', { uid: 'u', resourceVersion: '6' })).toBe(false)
    expect(writes.isOf('Node m', 'v1', { uid: 'u', resourceVersion: '5' })).toBe(false)
    expect(writes.isOf('Node n', 'other/v1', { uid: 'u', resourceVersion: '5' })).toBe(false)
    expect(writes.isOf('Node n', 'v1', { uid: 'u' })).toBe(false)
    expect(writes.isOf('Node n', 'v1', { resourceVersion: '7' })).toBe(false)
  })

  it('forgets the oldest', () => {
    const writes = new RecentWrites()
    for (let version = 1; version <= 5000; version++) writes.note('Node n', object('u', String(version)))
    const known = Array.from({ length: 5000 }, (_, index) => String(index + 1)).filter((resourceVersion) =>
      writes.isOf('Node n', 'v1', { uid: 'u', resourceVersion }),
    )
    expect(known).toHaveLength(4096)
    expect(known[0]).toBe('905')
  })
})
