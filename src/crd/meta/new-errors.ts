import type { FieldError } from './field-error.js'
import { valueAt } from './json.js'
import type { KubeObject } from './object.js'

/**
 * Divides the errors of an object into those that it had before an update, and those that the
 * update has added. An error is an old one if it says the same at the same place. An item of a
 * list that is the same as before keeps its errors at another place of the list. Each old error
 * counts once. O(errors + size of the items with errors).
 */
export function newErrors(
  errors: readonly FieldError[],
  known: readonly FieldError[],
  object: KubeObject,
  before: KubeObject,
): { readonly added: readonly FieldError[]; readonly old: readonly FieldError[] } {
  const exact = counted(known.map(keyOf))
  const elsewhere = errors.filter((error) => !take(exact, keyOf(error)))
  if (elsewhere.length === 0) return { added: [], old: errors }
  const left = known.filter((error) => take(exact, keyOf(error)))
  const numberOf = itemNumbers()
  const moved = counted(left.flatMap((error) => itemKey(error, before, numberOf) ?? []))
  const added = new Set(elsewhere.filter((error) => !take(moved, itemKey(error, object, numberOf))))
  return { added: [...added], old: errors.filter((error) => !added.has(error)) }
}

/** The item of a list that an error is about, in a list of the spec. */
const ITEM = /^((?:\w+\.)+\w+)\[(\d+)\]/
const INDEX = /\[\d+\]/g

/** What an error says, in full: its text for people is cut. */
function keyOf({ type, path, value, detail }: FieldError): string {
  return JSON.stringify([path, type, value, detail])
}

/** A number for each item: the same for items with the same JSON. Each item is written once. */
function itemNumbers(): (item: unknown) => number {
  const byItem = new Map<unknown, number>()
  const byText = new Map<string | undefined, number>()
  return (item) => {
    const known = byItem.get(item)
    if (known !== undefined) return known
    const text = JSON.stringify(item)
    const number = byText.get(text) ?? byText.size
    byText.set(text, number)
    byItem.set(item, number)
    return number
  }
}

/** What an error says without the place of its item, and the number of the item. */
function itemKey(error: FieldError, object: KubeObject, numberOf: (item: unknown) => number): string | undefined {
  const place = ITEM.exec(error.path)
  if (place === null) return undefined
  const [, list, index] = place
  const item = valueAt(object, [...list!.split('.'), Number(index)])
  return `${keyOf(error).replace(INDEX, '[]')} ${numberOf(item)}`
}

function counted(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}

/** Whether a text is left; it is counted off. */
function take(counts: Map<string, number>, text: string | undefined): boolean {
  const count = text === undefined ? 0 : (counts.get(text) ?? 0)
  if (count > 0) counts.set(text as string, count - 1)
  return count > 0
}
