import type { KubeObject } from 'ipam-kit/crd/meta'
import { ObjectCache, type Watch } from 'ipam-kit/plan'
import { once } from '../corpora.js'
import type { Side, Work } from '../harness.js'
import { keptPods, listInto, PAGE, pageOfPods, wholePods } from '../pods.js'

const PODS = 3000

export const cacheWorks: readonly Work[] = [
  {
    name: 'object cache: one event, 5 indexes, 50,000 objects',
    ours: () => eventAmong(50_000),
    peers: { 'the same with 500 objects': () => eventAmong(500) },
  },
  {
    name: 'object cache: first list of Pods of 6 kB, with keep',
    ours: () => firstList(keptPods),
    peers: { 'the same without keep': () => firstList(wholePods) },
  },
]

const NAMES = ['owner', 'node', 'pool', 'zone', 'address']
const objects: Watch<number> = {
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  plural: 'things',
  namespaced: true,
  statusSubresource: false,
  parse: ({ spec }) => ({ ok: true, value: spec as number }),
  // ten objects under each key, however many there are
  indexes: Object.fromEntries(
    NAMES.map((name, at) => [name, (value: number) => [`${name} ${Math.floor((value + at) / 10)}`]]),
  ),
}

function thing(index: number, version: number): KubeObject {
  const metadata = { namespace: 'default', name: `thing-${index}`, uid: `${index}`, resourceVersion: `${version}` }
  return { apiVersion: objects.apiVersion, kind: objects.kind, metadata, spec: index } as KubeObject
}

/** An object has changed, and those are looked up that share its keys. */
function eventAmong(count: number): Side {
  const cache = new ObjectCache()
  const known = cache.open(objects)
  let version = 0
  for (let index = 0; index < count; index++) cache.apply({ kind: 'present', object: thing(index, ++version) })
  let next = 0
  const run = () => {
    next = (next + 7) % 500
    const applied = cache.apply({ kind: 'present', object: thing(next, ++version) }, { selection: objects })
    let found = 0
    for (const [at, name] of NAMES.entries()) found += known.by(name, `${name} ${Math.floor((next + at) / 10)}`).length
    return applied.isNewer ? found : 0
  }
  return { run, operations: 1, answer: () => run() }
}

const pages = once(() => Array.from({ length: PODS / PAGE }, (_, page) => pageOfPods(page * PAGE, PAGE)))

function firstList(watch: typeof keptPods | typeof wholePods): Side {
  const run = () => listInto(watch, pages())
  return { run, operations: PODS, answer: () => run().open(watch as typeof keptPods).size }
}
