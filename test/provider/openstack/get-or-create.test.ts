import { getOrCreateFloatingIP } from 'ipam-kit/provider/openstack'
import { expect, test } from 'vitest'

const address = '203.0.113.1'
const failure = { message: 'boom', retryable: true } as const
const none = { ok: true, value: [] } as const
const wrong = { ok: false, failure } as const

test('lists, then asks for extensions if there are tags, then creates: nothing is created that would be left without its tags', () => {
  expect(getOrCreateFloatingIP({ address })).toEqual({ kind: 'list', address })
  expect(getOrCreateFloatingIP({ address, listed: none })).toEqual({
    kind: 'create',
    address,
    description: '',
    tags: [],
  })
  expect(getOrCreateFloatingIP({ address, listed: none, tags: ['a'] })).toEqual({ kind: 'listExtensions' })
  const extensions = { ok: true, value: ['standard-attr-tag'] } as const
  expect(getOrCreateFloatingIP({ address, listed: none, tags: ['a'], extensions })).toEqual({
    ...{ kind: 'create', address, description: '', tags: ['a'] },
  })
  expect(getOrCreateFloatingIP({ address, listed: none, tags: ['a'], extensions: none })).toMatchObject({ tags: [] })
  expect(getOrCreateFloatingIP({})).toEqual({ kind: 'create', address: undefined, description: '', tags: [] })
})

test('uses one that is there, in whatever form it is written, and says what has failed', () => {
  const listed = { ok: true, value: [{ address: '203.0.113.9' }, { address }] } as const
  expect(getOrCreateFloatingIP({ address, listed, tags: ['a'] })).toEqual({ kind: 'use', address })
  const six = { ok: true, value: [{ address: '2001:db8::1' }] } as const
  expect(getOrCreateFloatingIP({ address: '2001:DB8:0::1', listed: six })).toMatchObject({ kind: 'use' })
  expect(getOrCreateFloatingIP({ address, listed: wrong })).toEqual({ kind: 'failed', failure })
  expect(getOrCreateFloatingIP({ address, listed: none, tags: ['a'], extensions: wrong })).toEqual({
    ...{ kind: 'failed', failure },
  })
  expect(getOrCreateFloatingIP({ address: 'x' })).toMatchObject({ kind: 'failed', failure: { retryable: false } })
})
