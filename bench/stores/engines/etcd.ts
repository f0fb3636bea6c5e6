import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { etcdGateway, etcdStore } from 'ipam-kit/store/etcd'
import { startEtcd } from '../../../test/real/servers/etcd.js'
import { type Bench, type Calls, GROUP, KIND, type Listed, NAMESPACES, storeCalls } from '../calls.js'
import { firstOf, nextOf, type RawDocument, read, withVersion } from '../raw.js'

export async function overEtcd(): Promise<Bench> {
  const server = await startEtcd()
  const { url } = server
  const store = () =>
    etcdStore(etcdGateway({ fetch, url, fromBase64 }), { now: Date.now, uid: randomUUID, kinds: [KIND], sleep })
  return {
    versions: `etcd ${server.version} with fetch of Node ${process.versions.node}`,
    ours: storeCalls(store(), store()),
    raw: rawCalls(url),
    close: () => server.stop(),
  }
}

interface KeyValue {
  readonly mod_revision: string
  readonly value: string
}

interface Answer {
  readonly header: { readonly revision: string }
  readonly succeeded?: boolean
  readonly kvs?: readonly KeyValue[]
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function fromBase64(text: string): string {
  return utf8.decode(Buffer.from(text, 'base64'))
}

/** By hand: the JSON of etcd. */
function rawCalls(url: string): Calls {
  const namespace = NAMESPACES.raw
  const headers = { 'content-type': 'application/json' }
  const post = (call: string, body: object, signal?: AbortSignal) =>
    fetch(`${url}/v3/${call}`, { method: 'POST', headers, body: JSON.stringify(body), signal: signal ?? null })
  const ask = async (call: string, body: object): Promise<Answer> => {
    const response = await post(call, body)
    if (response.status !== 200) throw new Error(await response.text())
    return (await response.json()) as Answer
  }
  const written = async (object: KubeObject, revision = '0'): Promise<KubeObject> => {
    const key = keyOf(namespace, object.metadata.name)
    const value = encode(JSON.stringify(object))
    const { header, succeeded } = await ask('kv/txn', {
      compare: [{ key, target: 'MOD', result: 'EQUAL', mod_revision: revision }],
      success: [{ request_put: { key, value } }],
    })
    if (succeeded !== true) throw new Error('conflict')
    return withVersion(object, header.revision)
  }
  return {
    namespace,
    create: (object) => written(firstOf(object)),
    async update(object) {
      const { kvs = [] } = await ask('kv/range', { key: keyOf(namespace, object.metadata.name) })
      const before = kvs[0] === undefined ? undefined : documentOf(kvs[0])
      return written(nextOf(before, object), before?.revision)
    },
    async list(from): Promise<Listed> {
      const { header, kvs = [] } = await ask('kv/range', rangeOf(from))
      return { items: kvs.map((kv) => read(documentOf(kv))), resourceVersion: header.revision }
    },
    async watch(told) {
      const { header } = await ask('kv/range', { key: keyOf(namespace, ''), limit: '1', keys_only: true })
      const ending = new AbortController()
      const start_revision = String(BigInt(header.revision) + 1n)
      const create_request = { ...rangeOf(namespace), start_revision, prev_kv: true, progress_notify: true }
      const { body } = await post('watch', { create_request }, ending.signal)
      const reading = tell(body!, told).catch((error: unknown) => {
        if (!ending.signal.aborted) throw error
      })
      return async () => {
        ending.abort()
        await reading
      }
    },
  }
}

async function tell(body: ReadableStream<Uint8Array>, told: (object: KubeObject) => void): Promise<void> {
  const decoder = new TextDecoder()
  let begun = ''
  for await (const chunk of body) {
    const lines = (begun + decoder.decode(chunk, { stream: true })).split('\n')
    begun = lines.pop()!
    for (const line of lines) {
      const { result } = JSON.parse(line) as { result: { events?: { kv: KeyValue; prev_kv?: KeyValue }[] } }
      for (const { kv, prev_kv } of result.events ?? []) {
        // what it was before tells whether a selector held then
        if (prev_kv !== undefined) read(documentOf(prev_kv))
        told(read(documentOf(kv)))
      }
    }
  }
}

function keyOf(namespace: string, name: string): string {
  return encode(`ipam-kit/${GROUP}/${KIND.kind}/${namespace},${name}`)
}

function rangeOf(namespace: string) {
  // the minus is behind the comma
  return { key: keyOf(namespace, ''), range_end: encode(`ipam-kit/${GROUP}/${KIND.kind}/${namespace}-`) }
}

function documentOf({ value, mod_revision }: KeyValue): RawDocument {
  return { text: Buffer.from(value, 'base64').toString(), revision: mod_revision }
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64')
}
