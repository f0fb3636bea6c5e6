import { describe, expect, test } from 'vitest'
import { readRepeats } from './repeats.js'

const isKnown = (text: string) => /^(?:next|allocate(?: \d+)?|allocate each again|release \d+|drain)$/.test(text)
const read = (...steps: string[]) => readRepeats(steps, isKnown).map(({ text, times }) => `${text}|${times}`)

describe('steps that are repeated in words', () => {
  test.each([
    ['next'],
    ['next once', 1],
    ['next x3', 3],
    ['next ×3', 3],
    ['next X 3', 3],
    ['next*3', 3],
    ['3x next', 3],
    ['3 x next', 3],
    ['next 3 times', 3],
    ['next three times', 3],
    ['next (three times)', 3],
    ['next, 3 times', 3],
    ['three times next', 3],
    ['next twice', 2],
    ['twice next', 2],
    ['next two times', 2],
    ['next thrice', 3],
    ['then next ten times', 10],
    ['next again', 1],
    ['next again and again', 2],
  ])('%s', (text, times = 1) => {
    expect(read(text)).toEqual([`next|${times}`])
  })

  test.each([
    ['again', 1],
    ['same again', 1],
    ['the same', 1],
    ['the same again', 1],
    ['the same step again', 1],
    ['once more', 1],
    ['repeat', 1],
    ['repeat it twice', 2],
    ['and again', 1],
    ['again x3', 3],
    ['twice more', 2],
    ['three more times', 3],
  ])('%s: the step before it', (text, times) => {
    expect(read('allocate 3', text)).toEqual(['allocate 3|1', `allocate 3|${times}`])
    expect(read('allocate 3 x2', text)).toEqual(['allocate 3|2', `allocate 3|${2 * times}`])
  })

  test('a number of the step is not a number of times, and a step that is known is as it is', () => {
    expect(read('allocate 3', 'allocate each again', 'release 3 again', 'allocate 3 twice')).toEqual([
      'allocate 3|1',
      'allocate each again|1',
      'release 3|1',
      'allocate 3|2',
    ])
  })

  test('what is not known stays as it is, and there is nothing before the first step', () => {
    expect(read('juggle x3', 'again')).toEqual(['juggle x3|1', 'juggle x3|1'])
    expect(read('again')).toEqual(['again|1'])
    expect(read('next 0 times')).toEqual(['next|0'])
  })
})
