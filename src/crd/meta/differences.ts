import { asObject } from './json.js'

/**
 * Where two values differ, as sentences: `spec.address: "10.0.0.1" -> "10.0.0.2"`. What is absent,
 * `null` or an empty text is the same, as it is for Go.
 */
export function differences(path: string, before: unknown, after: unknown): readonly string[] {
  const [left, right] = [asObject(before), asObject(after)]
  if (left !== undefined && right !== undefined) {
    const keys = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort()
    return keys.flatMap((key) => differences(`${path}.${key}`, left[key], right[key]))
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((item, index) => differences(`${path}[${index}]`, item, after[index]))
  }
  if (before === after || (isNothing(before) && isNothing(after))) return []
  return [`${path}: ${shown(before)} -> ${shown(after)}`]
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

function shown(value: unknown): string {
  return isNothing(value) ? 'nothing' : JSON.stringify(value)
}
