import { Bitmap } from 'ipam-kit/allocator'
import { isIpamError } from 'ipam-kit/errors'
import { type Answers, those } from './answer.js'
import { inAskedOrder } from './asked-order.js'
import { readRepeats } from './repeats.js'

type Strategy = 'random' | 'roundRobin' | 'contiguous'

/** A step that is not known here. */
export class UnknownStep extends Error {}

/**
 * The next free number. Any free one is as good as a random one, if it follows from what is taken:
 * no answer is about which it is.
 */
const nextOf: Readonly<Record<Strategy, (bitmap: Bitmap, cursor: number) => number>> = {
  random: (bitmap) => bitmap.freeAt((bitmap.used * 7919) % Math.max(1, bitmap.size - bitmap.used)),
  roundRobin: (bitmap, cursor) => bitmap.nextFreeAround(cursor),
  contiguous: (bitmap) => bitmap.nextFree(0),
}

/** What the steps on a bitmap have led to. */
interface BitmapRun {
  bitmap: Bitmap
  /** Behind the number that was given last. */
  cursor: number
  snapshot: Uint8Array | undefined
  /** The number that a step named last. */
  named: number | undefined
  /** Whether each step that asks for a number got it. */
  readonly ok: boolean[]
  readonly given: number[]
  /** By the word of a step: whether its number was taken behind it. */
  readonly hasAfter: { hasAfterAllocate?: boolean; hasAfterRelease?: boolean }
}

/**
 * What the steps on a bitmap lead to. It is the one of `ipam-kit/allocator`, which is what these
 * cases are about: addresses of networks need none.
 *
 * @throws UnknownStep
 */
export function runBitmap(max: number, strategy: Strategy, steps: readonly string[]): Answers {
  const run: BitmapRun = {
    bitmap: new Bitmap(max),
    cursor: 0,
    snapshot: undefined,
    named: undefined,
    ok: [],
    given: [],
    hasAfter: {},
  }
  for (const { text, times } of readRepeats(steps, isBitmapStep)) {
    for (let i = 0; i < times; i++) doStep(text, run, nextOf[strategy])
  }
  const { bitmap, named, ok, given, hasAfter } = run
  const isInUse = (offset: number | undefined) => offset !== undefined && inside(() => bitmap.has(offset))
  return {
    ok: () => ok,
    lastOk: () => ok.at(-1) ?? null,
    offsets: () => given,
    count: () => bitmap.used,
    free: () => bitmap.size - bitmap.used,
    visited: (asked) => inAskedOrder(asked, taken(bitmap)),
    has: (asked) => those(asked, (offset) => bitmap.has(Number(offset))),
    hasAfterAllocate: () => hasAfter.hasAfterAllocate ?? false,
    hasAfterRelease: () => hasAfter.hasAfterRelease ?? false,
    hasAtEnd: () => isInUse(named),
  }
}

/** A step of a bitmap that names its number. */
const NUMBERED = /^(allocate|release) (\d+)$/

function isBitmapStep(text: string): boolean {
  return NUMBERED.test(text) || ['next', 'snapshot', 'restore into a new map'].includes(text)
}

function doStep(step: string, run: BitmapRun, next: (bitmap: Bitmap, cursor: number) => number): void {
  const [, word, number] = NUMBERED.exec(step) ?? []
  if (word !== undefined) {
    const offset = Number(number)
    const isDone = inside(() => (word === 'allocate' ? run.bitmap.take(offset) : run.bitmap.release(offset)))
    if (word === 'allocate') run.ok.push(isDone)
    run.named = offset
    run.hasAfter[word === 'allocate' ? 'hasAfterAllocate' : 'hasAfterRelease'] = inside(() => run.bitmap.has(offset))
    return
  }
  switch (step) {
    case 'next': {
      const offset = next(run.bitmap, run.cursor)
      run.ok.push(offset >= 0 && run.bitmap.take(offset))
      if (offset < 0) return
      run.given.push(offset)
      run.cursor = offset + 1
      return
    }
    case 'snapshot':
      run.snapshot = Bitmap.encode(run.bitmap)
      return
    case 'restore into a new map':
      if (run.snapshot === undefined) throw new UnknownStep('steps: a map that is restored without a snapshot')
      run.bitmap = Bitmap.decode(run.snapshot)
      run.cursor = 0
      return
    default:
      throw new UnknownStep(`steps: ${step}`)
  }
}

/** The answer of a bitmap, and false for a number that it does not have. */
function inside(call: () => boolean): boolean {
  try {
    return call()
  } catch (error) {
    if (isIpamError(error) && error.code === 'INDEX_OUT_OF_RANGE') return false
    throw error
  }
}

function taken(bitmap: Bitmap): number[] {
  const all: number[] = []
  for (const { first, last } of bitmap.usedRanges()) {
    for (let offset = first; offset <= last; offset++) all.push(offset)
  }
  return all
}
