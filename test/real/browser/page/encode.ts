/** Longer texts are told by their length and both ends. */
const MAX_TEXT = 200
/** Of what is made on demand, so many values are asked for. */
const MAX_ITEMS = 12

/** Any value as one that JSON carries without loss: two that differ are still different. */
export function encode(value: unknown): unknown {
  switch (typeof value) {
    case 'string':
      return value.length <= MAX_TEXT ? value : { text: value.length, head: value.slice(0, 40), tail: value.slice(-40) }
    case 'number':
      if (Object.is(value, -0)) return { number: '-0' }
      return Number.isFinite(value) ? value : { number: String(value) }
    case 'bigint':
      return { bigint: String(value) }
    case 'boolean':
      return value
    case 'object':
      return value === null ? null : encodeObject(value)
    default:
      return { [typeof value]: true }
  }
}

/**
 * What a call threw. The words of an error that is not ours belong to the engine, so they are left
 * out.
 */
export function encodeError(error: unknown): { readonly threw: string } {
  if (!(error instanceof Error)) return { threw: typeof error }
  const { code, context } = error as { code?: unknown; context?: unknown }
  if (typeof code !== 'string') return { threw: error.name }
  const words = { message: encode(error.message), context: encode(context) }
  return { threw: code, ...words }
}

function encodeObject(value: object): unknown {
  if (Array.isArray(value)) return value.map(encode)
  if (ArrayBuffer.isView(value)) {
    const list = value as unknown as ArrayLike<unknown> & { readonly [Symbol.toStringTag]: string }
    return { [list[Symbol.toStringTag]]: Array.from(list, encode) }
  }
  if ('next' in value) return { items: take(value as Iterator<unknown>) }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) return { instance: true }
  return { object: Object.entries(value).map(([name, member]) => [name, encode(member)]) }
}

function take(iterator: Iterator<unknown>): unknown[] {
  const items: unknown[] = []
  while (items.length < MAX_ITEMS) {
    const { done, value } = iterator.next()
    if (done) return items
    items.push(encode(value))
  }
  return [...items, { more: true }]
}
