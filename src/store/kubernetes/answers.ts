import type { Json, KubeObject } from '../../crd/meta/object.js'
import { isArray, isObject, type JsonObject } from '../rules/json.js'
import type { ObjectList } from '../store.js'
import type { KubernetesAnswer } from './client.js'

/** The body of an answer that tells how a request went. */
export interface Status {
  readonly message: string
  /** `NotFound`, `Conflict`. Empty if the server gives none. */
  readonly reason: string
  readonly code: number
  /** What it is about. `kind` is the name of a resource, or of a kind. */
  readonly name: string | undefined
  readonly kind: string | undefined
  readonly causes: readonly { readonly field: string; readonly message: string }[]
}

/** An answer, read. */
export interface Answer {
  readonly httpStatus: number
  readonly text: string
  /** `undefined`: the body is no JSON object. */
  readonly json: JsonObject | undefined
}

/** @throws Error for what is no answer at all */
export function readAnswer(answer: KubernetesAnswer): Answer {
  const { status, body } = answer
  if (!Number.isInteger(status) || typeof body !== 'string') throw new Error('the client gave no status and text')
  return { httpStatus: status, text: body, json: parseObject(body) }
}

export function isSuccess({ httpStatus }: Answer): boolean {
  return httpStatus >= 200 && httpStatus < 300
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const json = JSON.parse(text) as Json
    return isObject(json) ? json : undefined
  } catch {
    return undefined
  }
}

/** What says that it is a Status. Other fields are taken as far as they are what they should be. */
export function readStatus(json: unknown): Status | undefined {
  if (!isObject(json as Json) || (json as JsonObject).kind !== 'Status') return undefined
  const { message, reason, code, details } = json as JsonObject
  const { name, kind, causes } = isObject(details) ? details : ({} as JsonObject)
  return {
    message: textOf(message) ?? '',
    reason: textOf(reason) ?? '',
    code: typeof code === 'number' ? code : 0,
    name: textOf(name),
    kind: textOf(kind),
    causes: isArray(causes) ? causes.flatMap(readCause) : [],
  }
}

function readCause(cause: Json): Status['causes'] {
  if (!isObject(cause)) return []
  return [{ field: textOf(cause.field) ?? '', message: textOf(cause.message) ?? '' }]
}

/** An object as the server gave it. Items of a list need not say what kind they are. */
export function readObject(
  json: unknown,
  defaults?: { readonly apiVersion: string; readonly kind: string },
): KubeObject | undefined {
  if (!isObject(json as Json)) return undefined
  const object = json as JsonObject
  const { apiVersion = defaults?.apiVersion, kind = defaults?.kind, metadata } = object
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || !isObject(metadata)) return undefined
  if (textOf(metadata.name) === undefined || textOf(metadata.resourceVersion) === undefined) return undefined
  const isWhole = object.apiVersion !== undefined && object.kind !== undefined
  // lists are long: what is whole is not copied
  return (isWhole ? object : { apiVersion, kind, ...object }) as unknown as KubeObject
}

/** The answer to a list, if it is one. */
export function readList(
  json: JsonObject | undefined,
  defaults: { readonly apiVersion: string; readonly kind: string },
): ObjectList | undefined {
  const metadata = json?.metadata
  // a list of Go that is empty may be null
  const given = json?.items ?? []
  if (!isObject(metadata) || !isArray(given)) return undefined
  const resourceVersion = textOf(metadata.resourceVersion)
  const items: KubeObject[] = []
  for (const item of given) {
    const object = readObject(item, defaults)
    if (object === undefined) return undefined
    items.push(object)
  }
  if (resourceVersion === undefined) return undefined
  const next = textOf(metadata.continue)
  return next === undefined ? { items, resourceVersion } : { items, resourceVersion, continue: next }
}

function textOf(json: Json | undefined): string | undefined {
  return typeof json === 'string' && json !== '' ? json : undefined
}
