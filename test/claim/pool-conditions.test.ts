import { poolReady } from 'ipam-kit/claim'
import { expect, test } from 'vitest'

test.each([
  [{ isDeleting: false, hasRoom: true }, 'True Ready '],
  [{ isDeleting: false, hasRoom: false }, 'False PoolExhausted no address available'],
  [{ isDeleting: false, hasRoom: false, problem: 'no CIDR' }, 'False PoolNotReady no CIDR'],
  [{ isDeleting: false, hasRoom: true, problem: 'no CIDR' }, 'False PoolNotReady no CIDR'],
  [{ isDeleting: true, hasRoom: true, problem: 'no CIDR' }, 'False PoolNotReady the pool is being deleted'],
])('a pool that is %o is %s', (facts, expected) => {
  const { type, status, reason, message } = poolReady(facts)
  expect([type, `${status} ${reason} ${message}`]).toEqual(['Ready', expected])
})
