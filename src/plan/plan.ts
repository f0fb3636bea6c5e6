import { formatRef, refOf } from '../crd/meta/object.js'
import { readPointer } from '../crd/meta/patch.js'
import { check } from '../errors/check.js'
import { type Effect, type EffectPrecondition, type PatchEffect, PLAN } from './effect.js'
import { type FieldGuard, fieldGuardsOf, formatGuard, formatKeys, isJsonPatch } from './field-guards.js'

/** What a plan means for its object, with a sentence for people. */
export interface Outcome {
  readonly kind: string
  /** One sentence for people, without a final full stop. */
  readonly message: string
}

/**
 * What has to be done about one object, decided from the objects that were read. It is pure data:
 * it can be logged, compared, explained and replayed.
 *
 * Effects are carried out in order, up to the first that fails. The effect that reports success
 * comes last. A plan can stop at any point: the next plan continues from what is observed then. If
 * there is nothing to do, there are no effects.
 */
export interface Plan<O extends Outcome = Outcome> {
  readonly outcome: O
  readonly effects: readonly Effect[]
  /**
   * Plan again after this time even if nothing changes. 0: soon, with growing waits while it stays
   * 0.
   */
  readonly requeueAfterSeconds?: number | undefined
  /**
   * The keys to plan again when the plan has ended, beside those of the objects that it writes:
   * what waits for this plan.
   */
  readonly wakes?: readonly string[] | undefined
}

/**
 * A plan in words: its outcome, then each effect with what it changes, its condition and why.
 *
 * @example
 * explain({ outcome: { kind: 'paused', message: 'the Cluster is paused' }, effects: [] })
 * // 'paused: the Cluster is paused\n  nothing to do'
 */
export function explain(plan: Plan): string {
  check<unknown>('explain', 'plan', plan, PLAN)

  const lines = [`${plan.outcome.kind}: ${plan.outcome.message}`]
  plan.effects.forEach((effect, index) => {
    lines.push(`  ${index + 1}. ${explainEffect(effect)}`)
  })
  if (plan.effects.length === 0) lines.push('  nothing to do')
  if (plan.requeueAfterSeconds !== undefined) lines.push(`  look again in ${plan.requeueAfterSeconds} s`)
  return lines.join('\n')
}

/** One effect in words. */
export function explainEffect(effect: Effect): string {
  switch (effect.kind) {
    case 'create':
      return `create ${formatRef(refOf(effect.object))}, unless there is one: ${effect.why}`
    case 'patch': {
      const part = effect.subresource === undefined ? '' : `${effect.subresource} of `
      const fields = fieldsOf(effect)
      const condition = conditionOf(effect.if, fieldGuardsOf(effect))
      if (fields.length === 0) return `continue only with ${formatRef(effect.ref)}${condition}: ${effect.why}`
      return `patch ${part}${formatRef(effect.ref)} (${fields.join(', ')})${condition}: ${effect.why}`
    }
    case 'delete': {
      const how = effect.propagation === undefined ? '' : ` (${effect.propagation})`
      return `delete ${formatRef(effect.ref)}${how}${conditionOf(effect.if)}: ${effect.why}`
    }
    case 'absent':
      return `continue only if there is no ${formatRef(effect.ref)}${effect.uid === undefined ? '' : ` with uid ${effect.uid}`}: ${effect.why}`
    case 'external':
      return `ask the external system to ${effect.call.operation} for ${formatRef(effect.call.about)} under ${effect.call.key}: ${effect.why}`
    case 'event':
      return `tell of ${formatRef(effect.about)}: ${effect.type} ${effect.reason}: ${effect.message}`
  }
}

function conditionOf(condition: EffectPrecondition, guards: readonly FieldGuard[] = []): string {
  const parts: string[] = []
  if (condition.uid !== undefined) parts.push(`uid ${condition.uid}`)
  if (condition.resourceVersion !== undefined) parts.push(`version ${condition.resourceVersion}`)
  parts.push(...guards.map(formatGuard))
  return parts.length === 0 ? '' : ` if it has ${parts.join(' and ')}`
}

/** The fields that a patch changes, of a merge patch two levels deep: `metadata.finalizers`. */
function fieldsOf(effect: PatchEffect): readonly string[] {
  if (isJsonPatch(effect)) {
    const changes = effect.patch.filter(({ op }) => op !== 'test')
    return [...new Set(changes.map(({ path }) => formatKeys(readPointer(path) ?? [path])))]
  }
  return Object.entries(effect.patch).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.keys(value).map((inner) => `${key}.${inner}`)
      : [key],
  )
}
