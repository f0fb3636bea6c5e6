import { formatRef } from '../../../crd/meta/object.js'
import type { Plan } from '../../../plan/index.js'
import { KEYS, type NodeSliceContext } from './context.js'
import { isSameDivision } from './definition.js'
import type { DefinitionOutcome } from './outcome.js'

/** The plan for a definition: reports why its nodes get no slices. O(1). */
export function planDefinition(name: string, context: NodeSliceContext): Plan<DefinitionOutcome> | undefined {
  const { cache, sent } = context
  const facts = cache.definitions.get(name)
  if (facts === undefined) return undefined
  const { object } = facts
  const key = KEYS.format('NetworkAttachmentDefinition', name)
  const about = formatRef({ kind: 'NetworkAttachmentDefinition', ...object.metadata })
  const report = (kind: 'invalid' | 'mismatch', reason: string, problem: string, slicePool?: string) => {
    const message = `${about} gives no node slices: ${problem}`
    const effects = sent.newEvents(key, object, [{ reason, message, cause: problem }])
    return { outcome: { kind, message, slicePool }, effects } as const
  }
  if (facts.kind === 'ignored') {
    sent.forget(key)
    return { outcome: { kind: 'ignored', message: `${about} has no node slices` }, effects: [] }
  }
  if (facts.kind === 'invalid') return report('invalid', 'InvalidNodeSlices', facts.problem, facts.slicePool)
  const [oldest = facts] = cache.definitions.by('slicePool', facts.slicePool)
  if (oldest.kind === 'sliced' && !isSameDivision(oldest, facts)) {
    const other = formatRef({ kind: 'NetworkAttachmentDefinition', ...oldest.object.metadata })
    const problem = `${other} is older, and divides network ${facts.slicePool} otherwise`
    return report('mismatch', 'NodeSliceMismatch', problem, facts.slicePool)
  }
  sent.forget(key)
  const message = `${about} has slices of NodeSlicePool ${facts.slicePool}`
  return { outcome: { kind: 'served', message, slicePool: facts.slicePool }, effects: [] }
}
