import { describe, expect, test } from 'vitest'
import snapshot from './exports.snapshot.json' with { type: 'json' }
import { publicCalls } from './public-calls.js'
import { instances, NOT_INSTANTIATED } from './public-instances.js'
import { NOT_CALLED, problemsOf } from './wrong-arguments.js'

// Every exported function answers wrong values with an IpamError or with a right result. It never
// throws a TypeError from inside, never answers NaN, and always ends.

const calls = await publicCalls()

describe('wrong values', () => {
  test('there are calls of every entry', () => {
    expect(calls.length).toBeGreaterThan(300)
    expect(NOT_CALLED.filter(([those]) => !calls.some(({ name }) => those.test(name)))).toEqual([])
  })

  test('every export that can be called is called', () => {
    const called = new Set(calls.map(({ name }) => /^(?:new )?\S+ (\w+)/u.exec(name)?.[1]))
    const callable = Object.values(snapshot).flatMap((entry) =>
      Object.entries(entry).flatMap(([name, what]) => (what === 'function' || what === 'class' ? [name] : [])),
    )
    expect(callable.length).toBeGreaterThan(150)
    expect(callable.filter((name) => !called.has(name))).toEqual([])
  })

  test('every exported class is called, or there is a reason why it is not', () => {
    const classes = calls.flatMap(({ name }) => /^new \S+ (\w+)$/u.exec(name)?.[1] ?? [])
    const known = [...Object.keys(instances), ...Object.keys(NOT_INSTANTIATED)]
    expect(classes.sort()).toEqual(known.sort())
  })

  test.each(calls.filter(({ name }) => !NOT_CALLED.some(([those]) => those.test(name))))('$name', async (call) => {
    expect(await problemsOf(call)).toEqual([])
  })
})
