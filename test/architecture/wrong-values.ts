// Values that a caller without types may pass to any function, and what a function may answer.

/** The error of values that throw when they are read: it is the caller's, not a fault of the function. */
export class OwnError extends Error {}

const throws = () => {
  throw new OwnError('a value that throws')
}

export const throwing = new Proxy(
  {},
  { get: throws, has: throws, ownKeys: throws, getOwnPropertyDescriptor: throws, getPrototypeOf: throws },
)

/** Made anew for each call: a function may keep or change what it is given. */
export const WRONG: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  'an address as text': () => '10.0.0.1',
  'a prefix as text': () => '10.0.0.0/24',
  'a list of texts': () => ['10.0.0.0/24', 'fd00::/64'],
  NaN: () => Number.NaN,
  '-1': () => -1,
  'a number as text': () => '5',
  '{}': () => ({}),
  '[]': () => [],
  'a list of nothing': () => [undefined],
  'a function': () => () => undefined,
  'a Date': () => new Date(0),
  'a huge text': () => 'x'.repeat(1_000_000),
  'a proxy that throws': () => throwing,
}

/** How long a promise may take, in milliseconds. */
const MOST_MS = 2_000

/** What is wrong with the end of a call; `undefined` if nothing is. */
export async function problemOf(call: () => unknown, { isStrict }: { readonly isStrict: boolean }) {
  try {
    const result = await settled(call())
    if (hasNaN(result)) return 'answers NaN'
    return isStrict && !isFailure(result) ? `answers ${shown(result)}` : undefined
  } catch (error) {
    if (error instanceof OwnError || (error as { name?: unknown })?.name === 'IpamError') return undefined
    const { name, message, stack } = error as Error
    const at = /src\/[^)\s?]+[^)\s]*/u.exec(stack ?? '')?.[0] ?? ''
    return `throws ${name}: ${String(message).slice(0, 90)} (${at})`
  }
}

/** The result of a call: of a promise its value, of a generator its first members. */
async function settled(result: unknown): Promise<unknown> {
  if (isPromise(result)) {
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error('never ends')), MOST_MS)
    })
    try {
      return await Promise.race([result, late])
    } finally {
      clearTimeout(timer)
    }
  }
  return isGenerator(result) ? Array.from({ length: 3 }, () => result.next().value) : result
}

function isGenerator(value: unknown): value is IterableIterator<unknown> {
  const iterator = value as IterableIterator<unknown> | undefined
  return typeof iterator?.next === 'function' && typeof iterator[Symbol.iterator] === 'function'
}

function isPromise(value: unknown): value is Promise<unknown> {
  return value instanceof Promise
}

function isFailure(result: unknown): boolean {
  return (result as { ok?: unknown } | undefined)?.ok === false
}

function hasNaN(value: unknown, depth = 0): boolean {
  if (typeof value === 'number') return Number.isNaN(value)
  if (typeof value !== 'object' || value === null || value === throwing || depth > 3) return false
  if (value instanceof Date || ArrayBuffer.isView(value)) return false
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
  return (
    isPlain &&
    Object.values(value)
      .slice(0, 50)
      .some((one) => hasNaN(one, depth + 1))
  )
}

function shown(value: unknown): string {
  try {
    return (JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? `${one}n` : one)) ?? String(value)).slice(
      0,
      60,
    )
  } catch {
    return typeof value
  }
}
