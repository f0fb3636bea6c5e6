import { randomUUID } from 'node:crypto'
import type { KubeObject } from 'ipam-kit/crd/meta'

/** How many puts are in flight. */
const IN_FLIGHT = 64
const CREATED = '2026-01-01T00:00:00Z'

/** An object of a custom resource, and the plural name of its kind. */
export interface StoredObject {
  readonly plural: string
  readonly object: KubeObject
}

/**
 * Writes objects of custom resources directly into the etcd of an API server, as a restore does.
 * Each gets a uid.
 */
export async function putObjects(etcdUrl: string, objects: readonly StoredObject[]): Promise<readonly KubeObject[]> {
  const stored = objects.map(({ plural, object }) => {
    const metadata = { ...object.metadata, uid: randomUUID(), creationTimestamp: CREATED, generation: 1 }
    return { key: keyOf(plural, object), object: { ...object, metadata } }
  })
  // each has a revision of its own, as all that an API server writes: a watch that begins anew
  // within a revision misses the rest of it
  const puts = stored.values()
  const putAll = async () => {
    for (const { key, object } of puts) {
      await call(etcdUrl, 'put', { key: base64(key), value: base64(JSON.stringify(object)) })
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, putAll))
  return stored.map(({ object }) => object)
}

/**
 * Deletes all custom resources of an API group from the etcd of an API server, whatever finalizers
 * they have.
 */
export async function deleteObjects(etcdUrl: string, group: string): Promise<void> {
  // "0" follows "/"
  await call(etcdUrl, 'deleterange', { key: base64(`/registry/${group}/`), range_end: base64(`/registry/${group}0`) })
}

function keyOf(plural: string, { apiVersion, metadata: { namespace, name } }: KubeObject): string {
  const [group] = apiVersion.split('/')
  return ['/registry', group, plural, ...(namespace === undefined ? [] : [namespace]), name].join('/')
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

async function call(etcdUrl: string, path: string, body: object): Promise<void> {
  const answer = await fetch(`${etcdUrl}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`etcd: ${answer.status} ${await answer.text()}`)
}
