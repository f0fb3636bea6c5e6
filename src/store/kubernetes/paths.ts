import { labelProblem } from '../../crd/meta/names.js'
import { groupOf } from '../../crd/meta/object.js'

/** A kind in one of its versions, as it is in paths. */
export interface PathOfKind {
  readonly apiVersion: string
  readonly plural: string
}

/** The path of all that there is in a version of a group. */
export function discoveryPath(apiVersion: string): string {
  return groupOf(apiVersion) === '' ? `/api/${apiVersion}` : `/apis/${apiVersion}`
}

/**
 * The path of all objects of a kind, or of those in one namespace. The namespace has to be one that
 * can be.
 */
export function collectionPath({ apiVersion, plural }: PathOfKind, namespace: string | undefined): string {
  return `${discoveryPath(apiVersion)}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`
}

/** The path of one object. Its name and namespace have to be ones that can be. */
export function objectPath(
  resource: PathOfKind,
  { namespace, name }: { readonly namespace?: string | undefined; readonly name: string },
): string {
  return `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`
}

/**
 * Why nothing can be called so: `..` would be another path, and no name at all would be all
 * objects.
 */
export function nameProblem(name: string): string | undefined {
  if (name === '') return 'is required'
  if (name === '.' || name === '..' || /[/%]/.test(name)) return 'cannot be a part of a path'
  // nor can half a surrogate pair
  return /[\p{Cc}\p{Cs}]/u.test(name) ? 'cannot have control characters' : undefined
}

/** Why there is no such namespace. */
export function namespaceProblem(namespace: string | undefined): string | undefined {
  return namespace === undefined ? undefined : labelProblem(namespace)
}

/** `?a=1&b=2`, without what is not there. */
export function queryOf(parameters: { readonly [name: string]: string | number | undefined }): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined)
  if (given.length === 0) return ''
  return `?${given.map(([name, value]) => `${name}=${encoded(String(value))}`).join('&')}`
}

/** Half a surrogate pair cannot be encoded, and is in no text of the server. */
function encoded(text: string): string {
  return encodeURIComponent(text.replace(/\p{Cs}/gu, '\ufffd'))
}
