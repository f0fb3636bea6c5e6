import { errorText } from '../../errors/cause.js'
import { STORE_INVALID, STORE_IO } from '../../errors/definitions.js'
import { failure } from '../../errors/failure.js'
import type { StoreFailure, WatchEvent } from '../store.js'
import { readObject, readStatus } from './answers.js'
import { gone } from './failures.js'

/** How a connection of a watch has ended. */
export type End =
  /** Its time has passed, or the consumer does not want more now. */
  | { readonly kind: 'over' | 'full' }
  /** Another one would end in the same way. */
  | { readonly kind: 'refused'; readonly failure: StoreFailure }
  | { readonly kind: 'broken'; readonly error: unknown }

/** Where a watch is: what it is of, in words, and the last version that it was told. */
export interface WatchPlace {
  readonly shown: string
  readonly version: string
}

/** One line of a watch. `undefined`: nothing that says anything to us. */
export function readEvent(
  type: string,
  object: unknown,
  place: WatchPlace,
): { readonly event: WatchEvent } | End | undefined {
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED': {
      const read = readObject(object)
      return read === undefined ? unreadable(type) : { event: { type, object: read } }
    }
    case 'BOOKMARK': {
      const { metadata } = (object ?? {}) as { readonly metadata?: { readonly resourceVersion?: unknown } | null }
      const resourceVersion = metadata?.resourceVersion
      return typeof resourceVersion === 'string' ? { event: { type, resourceVersion } } : unreadable(type)
    }
    case 'ERROR': {
      const status = readStatus(object)
      if (status === undefined) return unreadable(type)
      return refusal(status.code, status.message, place) ?? { kind: 'broken', error: new Error(status.message) }
    }
    default:
      return undefined
  }
}

/**
 * @param error what the client has given, if anything
 * @param isSound the connection has stood for a while or told something new
 */
export function endOf(error: unknown, isSound: boolean, place: WatchPlace): End {
  const { name, statusCode, code } = (error ?? {}) as { readonly [field in 'name' | 'statusCode' | 'code']?: unknown }
  const status = [statusCode, code].find((each) => typeof each === 'number')
  const refused = status === undefined ? undefined : refusal(status as number, errorText(error), place)
  if (refused !== undefined) return refused
  const isOver = error === null || error === undefined || name === 'TimeoutError'
  // one that ends without a word may do so again at once
  if (isOver && isSound) return { kind: 'over' }
  return { kind: 'broken', error: error ?? new Error('the watch has ended without a word') }
}

/** What the server will not do for us however often it is asked. */
function refusal(code: number, message: string, { shown, version }: WatchPlace): End | undefined {
  if (code < 400 || code >= 500 || PASSING.has(code)) return undefined
  if (code === 410) return { kind: 'refused', failure: gone(version, message) }
  const problem = `${code}: ${message}`
  const isInvalid = code === 400 || code === 422
  return {
    kind: 'refused',
    failure: isInvalid
      ? failure(STORE_INVALID, { object: shown, path: 'query', problem })
      : failure(STORE_IO, { operation: 'watch (kubernetes)', problem }),
  }
}

/** It was asked too slowly, or too often. */
const PASSING: ReadonlySet<number> = new Set([408, 429])

function unreadable(type: string): End {
  return { kind: 'broken', error: new Error(`an event ${type.slice(0, 20)} has not what belongs to it`) }
}
