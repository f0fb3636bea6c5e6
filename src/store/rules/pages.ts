import { isObjectName, labelProblem } from '../../crd/meta/names.js'
import type { KubeObject } from '../../crd/meta/object.js'
import { STORE_INVALID } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { ok, type Result } from '../../errors/index.js'
import type { ListOptions, StoreErrorCode } from '../store.js'
import { assertListOptions } from './arguments.js'

/** Which page of a list is asked for. */
export interface Page {
  readonly limit: number
  /** The version of the first page; `undefined`: this is the first. */
  readonly version: string | undefined
  /** The last object of the page before. */
  readonly after: PagePlace | undefined
}

export interface PagePlace {
  /** Empty for a cluster-scoped object. */
  readonly namespace: string
  readonly name: string
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function readPage(options: ListOptions): Result<Page, StoreErrorCode> {
  assertListOptions(options)
  const { limit = Number.POSITIVE_INFINITY, continue: token } = options
  if (token === undefined || token === '') return ok({ limit, version: undefined, after: undefined })
  const [, version, namespace, name] = /^v1:(\d{1,20}):([^/]*)\/(.+)$/s.exec(token) ?? []
  const isPlace = name !== undefined && isObjectName(name) && (namespace === '' || !labelProblem(namespace!))
  if (!isPlace) {
    return failWith(STORE_INVALID, { object: 'list', path: 'continue', problem: 'is not a token of this store' })
  }
  return ok({ limit, version, after: { namespace: namespace!, name } })
}

export function formatContinue(version: string, { namespace, name }: PagePlace): string {
  return `v1:${version}:${namespace}/${name}`
}

export function placeOf({ metadata: { namespace = '', name } }: KubeObject): PagePlace {
  return { namespace, name }
}

/** By namespace, then name, in code-unit order. */
export function comparePlaces(left: PagePlace, right: PagePlace): number {
  if (left.namespace !== right.namespace) return left.namespace < right.namespace ? -1 : 1
  if (left.name === right.name) return 0
  return left.name < right.name ? -1 : 1
}
