// Recordings of a case, what differs between two of them, and the rules that tell which differences
// are meant.

export type Objects = Readonly<Record<string, unknown>>

/** The objects after each step of a case, the last ones at its end. */
export function statesOf({ steps, final }: Case): readonly Objects[] {
  const states: Objects[] = [{}]
  for (const { changed = {} } of steps) {
    const now = Object.entries({ ...states.at(-1), ...changed }).filter(([, object]) => object !== null)
    states.push(Object.fromEntries(now))
  }
  return [...states, final]
}

export interface Script {
  /** Of the recorded component. */
  readonly flags?: string | undefined
  readonly cases: readonly { readonly id: string }[]
}

/** What became of the objects in the steps of a case, and how they are at its end. */
export interface Case {
  readonly id: string
  /** `sets`: objects of one kind may swap their values. */
  readonly compare?: string | undefined
  /** Whether or where it ends differently each time. */
  readonly nondeterministic?: unknown
  readonly steps: readonly {
    readonly step: unknown
    readonly response?: unknown
    /** By name; `null`: it does not exist any more. */
    readonly changed?: Objects | undefined
    readonly controllerExited?: unknown
  }[]
  readonly final: Objects
}

export interface Recording {
  readonly cases: readonly Case[]
}

/** What differs between the recording of a case and ours. */
export interface Difference {
  readonly id: string
  /** A path, then what they have there and what we have. */
  readonly line: string
  /** `.Kind/name.path`, or `step 3 controllerExited`. */
  readonly path: string
  readonly theirs: Leaf
  readonly ours: Leaf
  readonly recorded: Case
  readonly own: Case
}

/** A value of an object; `undefined`: nothing. */
export type Leaf = string | number | boolean | undefined

/**
 * A difference that is meant: what it is called in docs/reference/deviations.md, and how it looks.
 */
export interface Rule {
  readonly heading: string
  readonly holds: (difference: Difference) => boolean
}

/**
 * The differences of a case that is compared as sets, one for each value. The tool tells all values
 * of a field in one line, and of Events not of which reason they are: these are compared here, for
 * each kind of object and each reason.
 */
export function oneByOne(differences: readonly Difference[], ignored = '^$'): readonly Difference[] {
  const [{ recorded, own } = {}] = differences
  const events = recorded && own ? eventDifferences(recorded, own) : []
  const isIgnored = new RegExp(ignored)
  return differences
    .flatMap((difference) => {
      const { path, theirs, ours } = difference
      if (path.startsWith('.Event/')) return []
      const [left, right] = [theirs, ours].map((leaf) => (leaf === undefined ? [] : String(leaf).split(' ')))
      const [missing, added] = [without(left!, right!), without(right!, left!)]
      return Array.from({ length: Math.max(missing.length, added.length) }, (_, nth) => {
        return { ...difference, theirs: leafIn(missing[nth]), ours: leafIn(added[nth]) }
      })
    })
    .concat(events.filter(({ path }) => !isIgnored.test(path)))
}

/** The members of a list that another one has fewer of. */
function without(list: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others]
  return list.filter((member) => {
    const at = left.indexOf(member)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

function leafIn(text: string | undefined): Leaf {
  return text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : text
}

/** Events of two cases, whichever objects of a kind they are about. */
function eventDifferences(recorded: Case, own: Case): readonly Difference[] {
  const [theirs, ours] = [recorded, own].map(({ final }) => eventsByReason(final))
  const reasons = new Set([...theirs!.keys(), ...ours!.keys()])
  return [...reasons].flatMap((reason) => {
    const [left, right] = [theirs!.get(reason) ?? [], ours!.get(reason) ?? []]
    return Array.from({ length: Math.max(left.length, right.length) }, (_, nth) => [left[nth], right[nth]]).flatMap(
      ([one = {}, other = {}]) =>
        [...new Set([...Object.keys(one), ...Object.keys(other)])]
          .filter((field) => one[field] !== other[field])
          .map((field) => {
            const path = `.Event/${reason}.${field}`
            const line = `${path}: ${JSON.stringify(one[field])} | ${JSON.stringify(other[field])}`
            return { id: own.id, line, path, theirs: one[field], ours: other[field], recorded, own }
          }),
    )
  })
}

type EventFields = Readonly<Record<string, Leaf>>

/** The Events by the kind of their object and their reason, each with its own fields. */
function eventsByReason(objects: Objects): ReadonlyMap<string, readonly EventFields[]> {
  const events = new Map<string, EventFields[]>()
  for (const [key, object] of Object.entries(objects)) {
    const [, kind, , reason] = key.split('/')
    if (!key.startsWith('Event/')) continue
    const fields = Object.entries(object as object).filter(([, value]) => typeof value !== 'object')
    const id = `${kind}/*/${reason}`
    events.set(id, [...(events.get(id) ?? []), Object.fromEntries(fields)])
  }
  return events
}
