import { check } from '../../errors/check.js'
import { HAS_META, type KubeObject } from './object.js'
import { formatPointer, type JsonPatch, type JsonPatchOperation } from './patch.js'

/**
 * The JSON patch that sets annotations of an object. Those that it has already are left out: the
 * patch is empty if it has all of them. O(annotations).
 *
 * @example
 * const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', annotations: { a: '1' } } }
 * annotationsPatch(pod, { a: '1', 'b/c': '2' }) // [{ op: 'add', path: '/metadata/annotations/b~1c', value: '2' }]
 */
export function annotationsPatch(
  object: Pick<KubeObject, 'metadata'>,
  annotations: { readonly [name: string]: string },
): JsonPatch {
  check<unknown>('annotationsPatch', 'object', object, HAS_META)
  check('annotationsPatch', 'annotations', annotations, ['record', 'text'])
  const { annotations: has } = object.metadata
  const stored = (name: string) => (has !== undefined && Object.hasOwn(has, name) ? has[name] : undefined)
  const set = Object.entries(annotations).filter(([name, value]) => stored(name) !== value)
  const operations = set.map(([name, value]): JsonPatchOperation => {
    const path = formatPointer(['metadata', 'annotations', name])
    return { op: stored(name) === undefined ? 'add' : 'replace', path, value }
  })
  if (has !== undefined || operations.length === 0) return operations
  return [{ op: 'add', path: '/metadata/annotations', value: {} }, ...operations]
}
