import { formatRef, type KubeObject, refOf } from 'ipam-kit/crd/meta'
import type { Change, Effect, Outcome, Planner } from 'ipam-kit/plan'
import { library, type SideOptions, type Tested } from './index.js'

/** The library with another planner in place of the one of this name. */
export function withPlanner(name: string, change: (planner: Planner, options: SideOptions) => Planner): Tested {
  return {
    planners: (options) =>
      library.planners(options).map((planner) => (planner.name === name ? change(planner, options) : planner)),
  }
}

/** A planner whose plans have other effects. */
export function editing(edit: (effects: readonly Effect[], outcome: Outcome) => readonly Effect[]) {
  return (planner: Planner): Planner => {
    const plan = planner.plan.bind(planner)
    planner.plan = (key, time) => {
      const found = plan(key, time)
      return found && { ...found, effects: edit(found.effects, found.outcome) }
    }
    return planner
  }
}

/** A planner that sees objects as other ones, or does not see them. */
export function seeing(see: (object: KubeObject) => KubeObject | undefined) {
  return (planner: Planner): Planner => {
    const observe = (change: Change) => {
      const object = change.kind === 'present' ? see(change.object) : undefined
      if (change.kind === 'present' && object === undefined) return []
      return planner.observe(object === undefined ? change : { kind: 'present', object })
    }
    const complete = () => {
      for (const watch of planner.watches) planner.complete?.(watch)
    }
    complete()
    return {
      name: planner.name,
      watches: planner.watches,
      observe,
      plan: (key, time) => planner.plan(key, time),
      ...(planner.begin && { begin: planner.begin.bind(planner) }),
      isAggregate: (key) => planner.isAggregate(key),
      reset() {
        planner.reset()
        complete()
      },
    }
  }
}

/**
 * A planner that takes objects for deleted, and does not see them any more.
 *
 * @param names whether a claim that it sees lets it forget an object
 */
export function forgetting(names: (claim: KubeObject, object: KubeObject) => boolean) {
  return (planner: Planner): Planner => {
    const known = new Map<string, KubeObject>()
    const forgotten = new Set<string>()
    return seeing((seen) => {
      const key = formatRef(refOf(seen))
      if (seen.kind !== 'IPAMClaim') {
        known.set(key, seen)
        return forgotten.has(key) ? undefined : seen
      }
      for (const [each, object] of known) {
        if (forgotten.has(each) || !names(seen, object)) continue
        forgotten.add(each)
        planner.observe({ kind: 'absent', ref: refOf(object), uid: object.metadata.uid })
      }
      return seen
    })(planner)
  }
}

/** The effects with another status of claims. */
export function withStatus(edit: (status: Status) => object): (effects: readonly Effect[]) => readonly Effect[] {
  return (effects) =>
    effects.map((effect) => {
      if (effect.kind !== 'patch' || effect.ref.kind !== 'IPAMClaim' || !('status' in effect.patch)) return effect
      const { status } = effect.patch as { readonly status: Status }
      return { ...effect, patch: { status: edit(status) } } as Effect
    })
}

interface Status {
  readonly ips: readonly string[]
}

/** The addresses of a Pod, by interface, in the form of its annotation. */
export interface Entries {
  readonly [key: string]: { readonly ip_addresses: readonly string[] }
}

/** The effects with other addresses of Pods. */
export function withEntries(edit: (entries: Entries) => Entries): (effects: readonly Effect[]) => readonly Effect[] {
  const edited = (text: unknown) => JSON.stringify(edit(JSON.parse(String(text)) as Entries))
  return (effects) =>
    effects.map((effect) => {
      if (effect.kind !== 'patch' || effect.ref.kind !== 'Pod' || !Array.isArray(effect.patch)) return effect
      const patch = effect.patch.map((operation: { readonly path: string; readonly value: unknown }) => {
        const { value } = operation
        if (typeof value === 'string') return { ...operation, value: edited(value) }
        const annotations = Object.entries(value as object).map(([name, text]) => [name, edited(text)])
        return { ...operation, value: Object.fromEntries(annotations) }
      })
      return { ...effect, patch } as unknown as Effect
    })
}

/** Nothing is read in the store before a write. */
export function withoutProofs(effects: readonly Effect[]): readonly Effect[] {
  return effects.filter((effect) => effect.kind !== 'absent' && !isGuard(effect))
}

function isGuard(effect: Effect): boolean {
  return effect.kind === 'patch' && Object.keys(effect.patch).length === 0
}

/** A planner that keeps the rows of blocks, instead of removing them. */
export function keepingRows(planner: Planner): Planner {
  const plan = planner.plan.bind(planner)
  planner.plan = (key, time) => (key.startsWith('IPBlock ') ? undefined : plan(key, time))
  return planner
}

/** A planner that removes each row again with the next one, whatever owner has it then. */
export function freeingTwice(planner: Planner): Planner {
  const removed = new Map<string, string[]>()
  return editing((effects) =>
    effects.map((effect) => {
      const rows = removedRows(effect)
      if (rows.length === 0 || effect.kind !== 'patch') return effect
      const all = [...(removed.get(effect.ref.name) ?? []), ...rows]
      removed.set(effect.ref.name, all)
      return { ...effect, patch: { spec: { rows: Object.fromEntries(all.map((row) => [row, null])) } } } as Effect
    }),
  )(planner)
}

function removedRows(effect: Effect): readonly string[] {
  if (effect.kind !== 'patch' || effect.ref.kind !== 'IPBlock') return []
  const { rows = {} } = ((effect.patch as { readonly spec?: object }).spec ?? {}) as { readonly rows?: object }
  return Object.entries(rows).flatMap(([row, value]) => (value === null ? [row] : []))
}
