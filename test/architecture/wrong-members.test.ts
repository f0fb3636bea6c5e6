import { describe, expect, test } from 'vitest'
import { isDeep } from '../setup/depth.js'
import { publicSignatures } from './argument-types.js'
import { publicCalls } from './public-calls.js'
import { memberProblems, NOT_CALLED_BELOW } from './wrong-members.js'

// Every exported function answers a wrong value at any place of its arguments, to three members
// below them, with an IpamError or with a result. The places are those of the TypeScript types of
// its signature.

const calls = (await publicCalls()).filter(({ name }) => !NOT_CALLED_BELOW.test(name))
const signatureOf = publicSignatures()
const found = await memberProblems(calls, signatureOf, isDeep ? 1 : 4)

describe('wrong members of arguments', () => {
  test('every call has a signature, and places', () => {
    expect(calls.filter(({ name }) => signatureOf(name) === undefined)).toEqual([])
    expect(found.places).toBeGreaterThan(5_000)
  })

  test('no error is untyped', () => {
    expect(found.untyped).toEqual([])
  })

  test('every mistake names the function and the argument', () => {
    expect(found.nameless).toEqual([])
  })

  test('every misspelt option is refused with the names of those that exist', () => {
    expect(found.misspelt).toEqual([])
  })
})
