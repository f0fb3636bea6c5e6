import { formatRef, hasFinalizer } from '../../../crd/meta/object.js'
import {
  type Absences,
  deleteObject,
  type Effect,
  guard,
  patchObject,
  proofOfAbsence,
  removeFinalizer,
} from '../../../plan/index.js'
import type { ClaimProof, ClaimStep } from './claim-step.js'

type Write = Exclude<ClaimStep, { readonly kind: 'keep' | 'refuse' }>

/** What a plan does now for the steps about the claims of a workload. */
export interface ClaimEffects {
  readonly effects: readonly Effect[]
  /** The writes of the plan. */
  readonly now: readonly Write[]
  /** Those that wait for the grace period, or for others after a refusal of the store. */
  readonly later: readonly Write[]
  readonly requeueAfterSeconds: number | undefined
}

/**
 * Times since which objects are missing, and the refusals of the store: after one the writes of a
 * workload are done one by one in rotation, so that no claim blocks the others.
 */
export interface ClaimWaits {
  readonly absences: Absences
  readonly refusals: Map<string, number>
}

/** The effects of steps about the claims of a workload. */
export function claimEffects(
  key: string,
  steps: readonly ClaimStep[],
  { absences, refusals }: ClaimWaits,
  nowMs: number,
): ClaimEffects {
  const writes = steps.filter((step): step is Write => step.kind !== 'keep' && step.kind !== 'refuse').sort(byOrder)
  const { due, requeueAfterSeconds } = absences.look(key, new Set(writes.flatMap(missingFor)), nowMs)
  const ready = writes.filter((write) => missingFor(write).every((id) => due.has(id)))
  const count = refusals.get(key)
  if (ready.length === 0) refusals.delete(key)
  const now = count === undefined || ready.length === 0 ? ready : [ready[count % ready.length]!]
  const proofs = new Map<string, Effect>()
  const effects = now.flatMap((write) => [
    ...proofsOf(write).flatMap((proof) => {
      const id = idOf(proof)
      if (proofs.has(id)) return []
      const effect = effectOf(proof, why(write))
      for (const each of effect) proofs.set(id, each)
      return effect
    }),
    ...writesOf(write),
  ])
  const isCut = now.length < ready.length
  return {
    effects,
    now,
    later: writes.filter((write) => !now.includes(write)),
    requeueAfterSeconds: isCut ? 0 : requeueAfterSeconds,
  }
}

/** A claim that is to be created waits for nothing. */
const ORDER = ['make', 'mend', 'release', 'remove']

function byOrder(left: Write, right: Write): number {
  return ORDER.indexOf(left.kind) - ORDER.indexOf(right.kind)
}

function why(write: Write): string {
  return write.kind === 'make' ? 'the workload has no claim' : write.why
}

function proofsOf(write: Write): readonly ClaimProof[] {
  return write.kind === 'make' ? [] : write.proofs
}

/** The objects that have to be missing twice before a write is done. */
function missingFor(write: Write): readonly string[] {
  if (write.kind === 'remove') return [`unplugged ${write.claim.metadata.uid ?? ''}`]
  if (write.kind !== 'release') return []
  const absent = write.proofs.filter((proof) => 'absent' in proof).map(idOf)
  return absent.length > 0 ? absent : [`released ${write.claim.metadata.uid ?? ''}`]
}

function idOf(proof: ClaimProof): string {
  if ('absent' in proof) return `${formatRef(proof.absent.ref)} ${proof.absent.uid ?? ''}`
  const { kind, metadata } = proof.unchanged
  return `unchanged ${formatRef({ kind, ...metadata })}`
}

function effectOf(proof: ClaimProof, reason: string): readonly Effect[] {
  return 'absent' in proof ? proofOfAbsence(proof.absent, reason) : [guard(proof.unchanged, reason)]
}

function writesOf(write: Write): readonly Effect[] {
  switch (write.kind) {
    case 'make':
      return [{ kind: 'create', object: write.claim, why: why(write) }]
    case 'mend':
      return [patchObject(write.claim, { metadata: { ...write.metadata } as never }, write.why)]
    case 'release':
      return [removeFinalizer(write.claim, write.finalizer, write.why)]
    case 'remove': {
      const { claim, finalizer } = write
      const release = hasFinalizer(claim, finalizer) ? [removeFinalizer(claim, finalizer, write.why)] : []
      return [...release, deleteObject(claim, write.why)]
    }
  }
}
