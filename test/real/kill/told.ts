/** What the process that is killed tells its parent, a line each. */
export type Told =
  | { readonly kind: 'ready' }
  | { readonly kind: 'try'; readonly object: string }
  | { readonly kind: 'failed'; readonly object: string; readonly code: string }
  /** The store has answered. `isHeld`: the object is there afterwards. */
  | {
      readonly kind: 'done'
      readonly object: string
      readonly uid: string
      readonly version: string
      readonly isHeld: boolean
    }

/** What must be stored, by object: uid and version. */
export type Expected = Map<string, string>

/**
 * Takes in what was answered. @returns the objects of which it is not known whether a write was
 * done
 */
export function takeIn(lines: readonly Told[], expected: Expected): Set<string> {
  const underWay = new Set<string>()
  // what a later write that surely failed tells nothing about: only one that was answered settles
  // it
  const unknown = new Set<string>()
  for (const line of lines) {
    if (line.kind === 'ready') continue
    if (line.kind === 'try') {
      underWay.add(line.object)
      continue
    }
    underWay.delete(line.object)
    if (line.kind === 'failed') {
      if (line.code === 'STORE_OUTCOME_UNKNOWN') unknown.add(line.object)
    } else {
      unknown.delete(line.object)
      if (line.isHeld) expected.set(line.object, `${line.uid} ${line.version}`)
      else expected.delete(line.object)
    }
  }
  return new Set([...underWay, ...unknown])
}

/**
 * Every write that was answered has to be there, and no other, but for those that were under way.
 */
export function lostIn(expected: Expected, stored: Expected, open: ReadonlySet<string>): string[] {
  const lost: string[] = []
  for (const object of new Set([...expected.keys(), ...stored.keys()])) {
    const [wanted, found] = [expected.get(object), stored.get(object)]
    if (wanted !== found && !open.has(object))
      lost.push(`${object}: ${wanted ?? 'gone'} was answered, ${found ?? 'nothing'} is stored`)
  }
  return lost
}
