import { Meta } from 'ipam-kit/crd'
import type { StoreFailure } from 'ipam-kit/store'
import { reasonIn } from '../admitted-store.js'
import { type Applied, apply } from '../apply.js'
import type { Cluster } from './cluster.js'
import type { Finding } from './finding.js'
import { models } from './kinds.js'
import type { Manifest } from './load.js'

type Fields = { readonly [field: string]: unknown }

/** Metadata that a server sets: it is in every dump, and means nothing to another server. */
const SERVER_FIELDS: readonly string[] = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
]

/** What became of the manifests. */
export interface Admitted {
  readonly findings: readonly Finding[]
  /** By `Kind namespace/name`, what was taken in. */
  readonly applied: ReadonlyMap<string, Applied>
}

/**
 * Brings the objects into the cluster, in order: those that fit their schema, have a name of their
 * own, and pass admission.
 */
export async function admit(
  manifests: readonly Manifest[],
  cluster: Cluster,
  onProgress: (done: number) => void,
): Promise<Admitted> {
  const findings: Finding[] = []
  const taken = new Map<string, Taken>()
  for (const [index, manifest] of manifests.entries()) {
    findings.push(...(await admitOne(manifest, cluster, taken)))
    onProgress(index + 1)
  }
  return { findings, applied: new Map([...taken].map(([name, { applied }]) => [name, applied])) }
}

/** Where an object came from that has been taken in, and what became of it. */
interface Taken {
  readonly where: string
  readonly applied: Applied
}

/** @param taken what has been taken in already, by `Kind namespace/name` */
async function admitOne(
  { where, value }: Manifest,
  cluster: Cluster,
  taken: Map<string, Taken>,
): Promise<readonly Finding[]> {
  if (!isObject(value)) return [refused(where, undefined, 'not an object with apiVersion and kind')]
  const { apiVersion, kind } = value
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') {
    return [refused(where, undefined, 'apiVersion and kind are needed, as texts')]
  }
  const model = models.find((candidate) => candidate.is({ apiVersion, kind }))
  if (model === undefined) {
    return [{ action: 'skipped', where, object: `${apiVersion} ${kind}`, reason: 'not a kind that this program loads' }]
  }

  const object = asNew(value, model.info)
  const name = nameOf(object, kind)
  const read = model.safeParse(object)
  if (!read.ok) return [refused(where, name, read.failure.message)]
  const first = taken.get(name)
  if (first !== undefined) return [refused(where, name, `there is one of this name already, from ${first.where}`)]
  const outcome = await apply(read.value, model, cluster)
  const warned = (reasons: readonly string[]): readonly Finding[] =>
    reasons.map((reason) => ({ action: 'warning', where, object: name, reason }))
  const warnings = cluster.takeWarnings()
  if ('failure' in outcome) return [...warned(warnings), refused(where, name, reasonOf(outcome.failure))]
  const { applied } = outcome
  taken.set(name, { where, applied })
  const kept = applied === 'kept' ? ['it is being deleted in the store, and left alone until it is gone'] : []
  return warned([...warnings, ...oddities(value, model.info), ...kept])
}

/**
 * The object as `kubectl create` would send it: without what a server sets, and in the namespace
 * that it goes to.
 */
function asNew(object: Fields, info: Meta.KindInfo): Fields {
  const { status: _, ...rest } = object
  if (!isObject(object.metadata)) return rest
  const kept = Object.entries(object.metadata).filter(([field]) => !SERVER_FIELDS.includes(field))
  const { namespace, ...metadata } = Object.fromEntries(kept) as Fields
  return { ...rest, metadata: info.namespaced ? { ...metadata, namespace: namespace || 'default' } : metadata }
}

/** What is not kept of an object, and should be told. */
function oddities({ metadata }: Fields, info: Meta.KindInfo): string[] {
  if (!isObject(metadata)) return []
  const told: string[] = []
  if (metadata.namespace && !info.namespaced) told.push('the kind is cluster-scoped, its namespace is dropped')
  if (metadata.deletionTimestamp) told.push('it was being deleted, and is loaded as if it were not')
  return told
}

/** `Kind namespace/name`, also of an object that does not fit its schema. */
function nameOf(object: Fields, kind: string): string {
  const { namespace, name } = isObject(object.metadata) ? object.metadata : {}
  const ref = { kind, name: typeof name === 'string' ? name : '(no name)' }
  return Meta.formatRef(typeof namespace === 'string' ? { ...ref, namespace } : ref)
}

/** Why a store refuses an object whose name is told already. */
export function reasonOf(failure: StoreFailure): string {
  const [, namespace] =
    failure.code === 'STORE_NOT_FOUND' ? (/^Namespace (.*)$/.exec(failure.context.object) ?? []) : []
  if (namespace !== undefined) return `there is no namespace ${namespace}: kubectl create namespace ${namespace}`
  return failure.code === 'STORE_INVALID' ? reasonIn(failure) : failure.message
}

function refused(where: string, object: string | undefined, reason: string): Finding {
  return { action: 'refused', where, object, reason }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
