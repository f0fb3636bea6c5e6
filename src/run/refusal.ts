import { formatRef, refOf } from '../crd/meta/object.js'
import { plain } from '../errors/quote.js'
import type { Refusal } from '../plan/effect.js'
import type { Effect, EventEffect } from '../plan/index.js'
import type { StoreFailure } from '../store/index.js'
import { refOfEffect } from './plan/effect-ref.js'

/** How much of what a store says is repeated, in UTF-16 units: an Event takes 1,024 bytes. */
const MAX_TEXT = 900

/** A failure of an effect as planners are told of it. */
export function refusalOf(effect: Effect, failure: StoreFailure): Refusal {
  const message = plain(`could not ${actionOf(effect)}: ${problemOf(failure)}`, MAX_TEXT)
  return { effect, code: failure.code, message }
}

/** What a store says about a failure, without what the caller has asked of it. */
export function problemOf(failure: StoreFailure): string {
  switch (failure.code) {
    case 'STORE_IO':
      return plain(failure.context.problem, MAX_TEXT)
    case 'STORE_INVALID':
      return plain(`${failure.context.path}: ${failure.context.problem}`, MAX_TEXT)
    default:
      return failure.message
  }
}

/** What an effect does to its object. */
function actionOf(effect: Effect): string {
  switch (effect.kind) {
    case 'create':
      return `create ${formatRef(refOf(effect.object))}`
    case 'patch':
      return `patch ${effect.subresource === undefined ? '' : 'the status of '}${formatRef(effect.ref)}`
    case 'delete':
      return `delete ${formatRef(effect.ref)}`
    case 'absent':
      return `read ${formatRef(effect.ref)}`
    default:
      return `write ${formatRef(refOfEffect(effect))}`
  }
}

/** A refusal as an event about the object of the effect. */
export function eventOf({ effect, message }: Refusal): EventEffect {
  const uid = effect.kind === 'patch' || effect.kind === 'delete' ? effect.if.uid : undefined
  return { kind: 'event', about: refOfEffect(effect), uid, type: 'Warning', reason: 'WriteRefused', message }
}
