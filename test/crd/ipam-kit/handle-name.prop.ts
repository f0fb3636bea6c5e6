import { fc, test } from '@fast-check/vitest'
import { expect } from 'vitest'
import { handleName } from '../../../src/crd/ipam-kit/ip-handle.js'

const uid = fc.oneof(
  fc.string({ minLength: 1, maxLength: 60, unit: 'binary' }).filter((text) => text.length <= 60),
  fc.stringMatching(/^[-0-9a-f.]{1,8}$/),
  fc.uuid(),
)

test.prop([uid])('a handle has a name that an API server takes', (one) => {
  expect(handleName(one)).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
  expect(handleName(one).length).toBeLessThanOrEqual(253)
})

test.prop([uid, uid])('and no two owners have the same', (one, other) => {
  expect(handleName(one) === handleName(other)).toBe(one === other)
  // also where one uid is what another one is written as
  const [, digits = ''] = /^[a-z]+-(.*)$/u.exec(handleName(one)) ?? []
  if (digits !== one && digits.length <= 60) expect(handleName(digits)).not.toBe(handleName(one))
})
