import { formatRef, type ObjectRef } from '../../crd/meta/object.js'
import { quote } from '../../errors/quote.js'

/** Objects and their kinds in words, for failures: whatever is written in them. */

/** As `formatRef`, for a name that may be anything. */
export function formatName({ kind, namespace, name }: Omit<ObjectRef, 'apiVersion'>): string {
  const ref = { kind: formatText(kind), name: formatText(name) }
  return formatRef(namespace === undefined || namespace === '' ? ref : { ...ref, namespace: formatText(namespace) })
}

export function formatText(text: string): string {
  return /^[\w.:-]{1,253}$/.test(text) ? text : quote(text)
}

/** What an object of the caller says that it is. Reading it can fail in any way. */
export function formatInput(object: object): string {
  try {
    const { kind, metadata } = object as { readonly kind?: unknown; readonly metadata?: { [key: string]: unknown } }
    const text = (value: unknown) => (typeof value === 'string' ? value : '')
    return formatName({ kind: text(kind), namespace: text(metadata?.namespace), name: text(metadata?.name) })
  } catch {
    return 'object'
  }
}
