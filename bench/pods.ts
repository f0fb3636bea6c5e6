import { Pod } from 'ipam-kit/crd/core'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { modelWatch, ObjectCache, type TrimmedWatch, type Watch } from 'ipam-kit/plan'
import type { AnyWatch } from '../src/plan/cached-objects.js'

/** As in the informers of Kubernetes. */
export const PAGE = 500

/** A page of a list of Pods of 6 kB, as an API server sends it. */
export function pageOfPods(from: number, count: number): string {
  return JSON.stringify({ items: Array.from({ length: count }, (_, index) => podOf(from + index)) })
}

function podOf(index: number): object {
  const container = (name: string) => ({
    name,
    image: `registry.example.com/team/${name}:1.2.3`,
    env: Array.from({ length: 20 }, (_, i) => ({ name: `SETTING_${i}`, value: `value ${i} of pod ${index}` })),
    resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '1', memory: '512Mi' } },
    volumeMounts: [{ name: 'token', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true }],
  })
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `pod-${index}`,
      namespace: `ns-${index % 100}`,
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      resourceVersion: `${index + 1}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: `app-${index % 300}`, 'pod-template-hash': 'abcdef' },
      annotations: { 'example.com/ip': '10.0.0.1', 'example.com/notes': 'x'.repeat(1200) },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `app-${index % 300}`,
          uid: `owner-${index % 300}`,
          controller: true,
        },
      ],
    },
    spec: {
      nodeName: `node-${index % 500}`,
      containers: ['main', 'proxy', 'logs'].map(container),
      volumes: [{ name: 'token' }],
    },
    status: {
      phase: 'Running',
      podIP: '10.0.0.1',
      podIPs: [{ ip: '10.0.0.1' }],
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
        type,
        status: 'True',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      })),
    },
  }
}

export const wholePods: Watch<Pod> = modelWatch(Pod)

/** What a planner of addresses reads of a Pod: its names, owner, node, phase and one annotation. */
export const keptPods: TrimmedWatch<KubeObject> = {
  ...Pod.info,
  keep: ({ apiVersion, kind, metadata, ...rest }) => {
    const { name, namespace, uid, resourceVersion, creationTimestamp, ownerReferences, annotations = {} } = metadata
    const { spec, status } = rest as {
      readonly spec: { readonly nodeName: string }
      readonly status: { readonly phase: string }
    }
    return {
      apiVersion,
      kind,
      metadata: {
        name,
        namespace,
        uid,
        resourceVersion,
        creationTimestamp,
        ownerReferences,
        annotations: { 'example.com/ip': annotations['example.com/ip'] ?? '' },
      },
      spec: { nodeName: spec.nodeName },
      status: { phase: status.phase },
    }
  },
  // the part is so small that it is read as it is
  parse: (object) => ({ ok: true, value: object }),
}

/** Lists all pages into a cache, as an informer does. @param parsed called when a page is read */
export function listInto(
  watch: AnyWatch<Pod> | AnyWatch<KubeObject>,
  pages: Iterable<string>,
  parsed = () => {},
): ObjectCache {
  const cache = new ObjectCache()
  cache.open(watch as AnyWatch<KubeObject>)
  const kept: KubeObject[] = []
  for (const text of pages) {
    const { items } = JSON.parse(text) as { readonly items: readonly KubeObject[] }
    parsed()
    for (const object of items) kept.push(cache.keep(watch, object))
  }
  const found = cache.changesOf(watch, { items: kept, resourceVersion: '1000000' }, cache.clock)
  if (found.kind !== 'changes') throw new Error(`the list of the benchmark ${found.kind}`)
  for (const change of found.changes) cache.apply(change, { selection: watch, isKept: true })
  return cache
}
