import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from '../../../src/crd/meta/object.js'
import { type KubernetesClient, kubernetesStore } from '../../../src/store/kubernetes/index.js'
import type { Store, StoreFailure, WatchEvent } from '../../../src/store/store.js'
import { conformanceKinds } from '../../../src/testing/index.js'
import { paced, pause } from '../pace.js'
import type { TcpProxy } from '../proxy.js'
import type { Report } from '../report.js'
import type { RealKubernetes } from '../servers/kubernetes.js'
import { waitFor } from '../servers/tools.js'
import { startWebhook } from './webhook.js'
import { checkWriteLimit } from './write-limit.js'

export interface Bench {
  readonly server: RealKubernetes
  readonly proxy: TcpProxy
  /** By way of the proxy. */
  readonly client: KubernetesClient
  /** Past it. */
  readonly direct: KubernetesClient
  /** By way of the proxy, with a time-out that has room for a write and no more. */
  readonly hasty: KubernetesClient
}

const GROUP = 'conformance.ipam-kit.dev'
const NAMESPACE = 'behaviour'
/**
 * Within this time a client that has nothing else to do has noticed that a connection of its own
 * was cut.
 */
const NOTICED_MS = 50

/** What the contract leaves to the store of an API server, and what it depends on in one. */
export async function behaviour(report: Report, bench: Bench): Promise<void> {
  const { server, client } = bench
  await server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
  const store = kubernetesStore(client, { sleep, kinds: conformanceKinds })
  const test = (name: string, body: () => Promise<unknown>) =>
    report.test(name, async () => {
      await body()
      return undefined
    })
  await test('kinds that the caller has not listed are asked for, with their status', () => checkCore(client))
  await test('a kind that the server does not know is no deleted object', () => checkUnknownKind(client))
  await test('an update creates nothing, of kinds too where the server would', () => checkLease(client))
  await test('what a client may not do is no fault of the object', () => checkForbidden(client))
  await test('what a webhook denies is refused; one that is not there is a failure', () => checkWebhook(store, server))
  await test('a patch that is too late is a conflict, whatever else is wrong with it', () => checkLatePatch(store))
  await test('a patch by two calls or by one: no write is lost', () => checkStatusWriters(store))
  await test('a list too old to continue, and a watch too old to begin', () => checkTooOld(store, server))
  await pause(NOTICED_MS)
  await test('a write whose answer is lost may have been done', () => checkLostAnswer(bench))
  await test('a write that took too long may have been done', () => checkTimeOut(bench))
  await report.test('a write with a limit does not come after it', () =>
    checkWriteLimit(server, bench.direct, NAMESPACE),
  )
  await test('connections that are cut never make a conflict of a write that was done', () => checkCuts(bench))
  await pause(NOTICED_MS)
  await test('conditions hold, whatever the operations do to what they are about', () => checkGuards(client))
  await test('a watch tells texts that could end a line', () => checkLines(store))
  await test('a watch of nothing outlasts its connections', () => checkQuietWatch(store))
  await test('with the server gone nothing is written; when it is back a watch continues', () => checkRestart(bench))
}

function pool(name: string, parts: { readonly spec?: object; readonly metadata?: object } = {}): KubeObject {
  const { metadata, ...rest } = parts
  const place = { namespace: NAMESPACE, name }
  return { apiVersion: `${GROUP}/v1`, kind: 'ConformancePool', ...rest, metadata: { ...place, ...metadata } }
}

const ref = (name: string) => ({ apiVersion: `${GROUP}/v1`, kind: 'ConformancePool', namespace: NAMESPACE, name })

type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: StoreFailure }

async function valueIn<T>(result: Promise<Answer<T>>): Promise<T> {
  const answer = await result
  if (!answer.ok) throw new Error(`${answer.failure.code} ${JSON.stringify(answer.failure.context)}`)
  return answer.value
}

async function failureIn(result: Promise<Answer<unknown>>): Promise<StoreFailure> {
  const answer = await result
  if (answer.ok) throw new Error(`no failure: ${JSON.stringify(answer.value)}`)
  return answer.failure
}

async function codeIn(result: Promise<Answer<unknown>>): Promise<string> {
  const answer = await result
  return answer.ok ? 'ok' : answer.failure.code
}

async function checkCore(client: KubernetesClient): Promise<void> {
  const store = kubernetesStore(client, { sleep })
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'behaviour-1' }, spec: { podCIDR: '10.1.0.0/24' } }
  const made = await valueIn(store.create(node))
  assert.match(made.metadata.creationTimestamp!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  assert.equal((made.metadata as { managedFields?: { manager: string }[] }).managedFields![0]!.manager, 'ipam-kit')
  const place = { apiVersion: 'v1', kind: 'Node', name: 'behaviour-1' }
  const status = { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] }
  const patched = await valueIn(store.patch(place, { status }, { subresource: 'status' }))
  assert.deepEqual((patched.status as typeof status).addresses, status.addresses)
  const { items } = await valueIn(store.list({ apiVersion: 'v1', kind: 'Node' }))
  assert.deepEqual(items, [patched])
  const selected = store.list({ apiVersion: 'v1', kind: 'Node', fields: { 'spec.unschedulable': 'false' } })
  assert.equal((await valueIn(selected)).items.length, 1)
  assert.equal(await codeIn(store.list({ apiVersion: 'v1', kind: 'Node', fields: { 'spec.x': '' } })), 'STORE_INVALID')
  assert.equal((await valueIn(store.delete(place))).metadata.uid, made.metadata.uid)
  const owner = await valueIn(
    store.get({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'system:node' }),
  )
  assert.equal(owner.metadata.name, 'system:node')
}

async function checkUnknownKind(client: KubernetesClient): Promise<void> {
  const listed = {
    apiVersion: 'none.ipam-kit.dev/v1',
    kind: 'None',
    plural: 'nones',
    namespaced: true,
    statusSubresource: true,
  }
  for (const kinds of [[], [listed]]) {
    const store = kubernetesStore(client, { sleep, kinds })
    const none = { apiVersion: listed.apiVersion, kind: 'None', namespace: NAMESPACE, name: 'a' }
    assert.equal(await codeIn(store.get(none)), 'STORE_IO')
    assert.equal(await codeIn(store.delete(none)), 'STORE_IO')
    assert.equal(await codeIn(store.list(none)), 'STORE_IO')
    const { value } = await store.watch(none)[Symbol.asyncIterator]().next()
    assert.equal(value.failure.code, 'STORE_IO')
  }
  const store = kubernetesStore(client, { sleep, kinds: conformanceKinds })
  const elsewhere = await failureIn(store.create(pool('a', { metadata: { namespace: 'nowhere' } })))
  assert.deepEqual([elsewhere.code, elsewhere.context], ['STORE_NOT_FOUND', { object: 'Namespace nowhere' }])
}

async function checkLease(client: KubernetesClient): Promise<void> {
  const store = kubernetesStore(client, { sleep })
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace: NAMESPACE, name: 'l' } }
  assert.equal(await codeIn(store.update(withMeta(lease, { resourceVersion: '5' }))), 'STORE_NOT_FOUND')
  const made = await valueIn(store.create(lease))
  const { resourceVersion } = made.metadata
  const changed = await valueIn(
    store.update({ ...withMeta(lease, { resourceVersion }), spec: { holderIdentity: 'me' } }),
  )
  assert.deepEqual([changed.metadata.uid, changed.spec], [made.metadata.uid, { holderIdentity: 'me' }])
  assert.equal(await codeIn(store.update(withMeta(lease, { resourceVersion }))), 'STORE_CONFLICT')
  await valueIn(store.delete({ ...lease, ...lease.metadata }))
}

function withMeta(object: KubeObject, metadata: object): KubeObject {
  return { ...object, metadata: { ...object.metadata, ...metadata } }
}

async function checkForbidden(client: KubernetesClient): Promise<void> {
  const nobody: KubernetesClient = {
    request: (request) => client.request({ ...request, headers: { ...request.headers, 'impersonate-user': 'nobody' } }),
    watch: (path, query, onEvent, done) => client.watch(path, query, onEvent, done),
  }
  const store = kubernetesStore(nobody, { sleep, kinds: conformanceKinds })
  const denied = await failureIn(store.create(pool('a')))
  assert.equal(denied.code, 'STORE_IO')
  assert.match(JSON.stringify(denied.context), /403: .*User .*nobody.* cannot create resource/)
  assert.equal(await codeIn(store.get(ref('a'))), 'STORE_IO')
}

async function checkWebhook(store: Store, server: RealKubernetes): Promise<void> {
  const labels = { webhook: 'never' }
  const webhook = await startWebhook(GROUP, labels)
  const self = `/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/${webhook.configuration.metadata.name}`
  try {
    await server.apply(webhook.configuration)
    let round = 0
    const denied = await waitFor(
      async () => {
        const answer = await store.create(pool(`denied-${round++}`, { metadata: { labels } }))
        return answer.ok ? undefined : answer.failure
      },
      { seconds: 30, else: 'the webhook is not asked' },
    )
    assert.equal(denied.code, 'STORE_INVALID')
    assert.match(JSON.stringify(denied.context), /not today/)
    await webhook.close()
    const broken = await failureIn(store.create(pool('broken', { metadata: { labels } })))
    assert.equal(broken.code, 'STORE_IO', JSON.stringify(broken.context))
    assert.equal(await codeIn(store.get(ref('broken'))), 'STORE_NOT_FOUND')
  } finally {
    await server.request('DELETE', self)
  }
}

async function checkLatePatch(store: Store): Promise<void> {
  const { uid, resourceVersion } = (await valueIn(store.create(pool('late', { spec: { x: 1 } })))).metadata
  await valueIn(store.patch(ref('late'), { spec: { x: 2 } }))
  const wrong = [{ op: 'test', path: '/spec/x', value: 1 }] as const
  assert.equal(await codeIn(store.patch(ref('late'), wrong, { resourceVersion })), 'STORE_CONFLICT')
  assert.equal(await codeIn(store.patch(ref('late'), wrong, { uid })), 'STORE_INVALID')
  assert.equal(await codeIn(store.patch(ref('late'), wrong)), 'STORE_INVALID')
  for (const never of ['0', '', 'yesterday', '007']) {
    assert.equal(await codeIn(store.patch(ref('late'), {}, { resourceVersion: never })), 'STORE_CONFLICT', never)
    assert.equal(await codeIn(store.delete(ref('late'), { resourceVersion: never })), 'STORE_CONFLICT', never)
  }
  assert.equal(await codeIn(store.patch(ref('late'), {}, { uid: '' })), 'STORE_CONFLICT')
}

async function checkStatusWriters(store: Store): Promise<void> {
  const { uid } = (await valueIn(store.create(pool('status')))).metadata
  const writers = [...'abcdef']
  for (let round = 0; round < 5; round++) {
    await Promise.all(
      writers.map((writer) =>
        valueIn(store.patch(ref('status'), { status: { [writer]: round } }, { uid, subresource: 'status' })),
      ),
    )
  }
  const { status } = await valueIn(store.get(ref('status')))
  assert.deepEqual(status, Object.fromEntries(writers.map((writer) => [writer, 4])))
  // a deletion has to remove what it says it has removed, also while others write
  const writing = Promise.all(writers.map((writer) => store.patch(ref('status'), { spec: { [writer]: 1 } })))
  const gone = await valueIn(store.delete(ref('status'), { uid }))
  const written = (await writing).filter((answer) => answer.ok)
  assert.equal(Object.keys((gone.spec ?? {}) as object).length, written.length)
}

async function checkTooOld(store: Store, server: RealKubernetes): Promise<void> {
  const query = { apiVersion: `${GROUP}/v1`, kind: 'ConformancePool', namespace: NAMESPACE }
  for (const name of ['old-1', 'old-2', 'old-3']) await valueIn(store.create(pool(name)))
  const page = await valueIn(store.list(query, { limit: 1 }))
  const after = (await valueIn(store.create(pool('old-4')))).metadata.resourceVersion!
  const compacted = await fetch(`${server.etcdUrl}/v3/kv/compaction`, {
    method: 'POST',
    body: JSON.stringify({ revision: after, physical: true }),
  })
  assert.equal(compacted.status, 200)
  // the server keeps what pages are read from for a while: one that began long ago
  const began = JSON.parse(Buffer.from(page.continue!, 'base64url').toString())
  const token = Buffer.from(JSON.stringify({ ...began, rv: 1 })).toString('base64url')
  const rest = await failureIn(store.list(query, { limit: 1, continue: token }))
  assert.equal(rest.code, 'STORE_VERSION_GONE', JSON.stringify(rest))
  assert.equal(await codeIn(store.list(query, { limit: 1, continue: page.continue })), 'ok')
  const { value } = await store.watch(query, { resourceVersion: '1' })[Symbol.asyncIterator]().next()
  assert.deepEqual([value.type, value.failure.code], ['ERROR', 'STORE_VERSION_GONE'])
  assert.match(value.failure.context.oldest, /^[1-9]\d*$/)
}

async function checkLostAnswer({ client, direct, proxy }: Bench): Promise<void> {
  const options = { sleep, kinds: conformanceKinds }
  const store = kubernetesStore(client, options)
  const other = kubernetesStore(direct, options)
  const large = { spec: { text: 'x'.repeat(40_000) } }
  const until = (done: () => Promise<boolean>) =>
    waitFor(async () => ((await done()) ? true : undefined), { seconds: 30, else: 'the server has not done it' })

  proxy.holdAnswers()
  const creating = failureIn(store.create(pool('lost', large)))
  await until(async () => (await other.get(ref('lost'))).ok)
  proxy.cut()
  assert.equal((await creating).code, 'STORE_OUTCOME_UNKNOWN')
  await pause(NOTICED_MS)

  proxy.holdAnswers()
  const patching = failureIn(store.patch(ref('lost'), { spec: { more: 'y'.repeat(40_000) } }))
  await until(async () => 'more' in ((await valueIn(other.get(ref('lost')))).spec as object))
  proxy.cut()
  assert.equal((await patching).code, 'STORE_OUTCOME_UNKNOWN')
  assert.equal((await valueIn(store.get(ref('lost')))).metadata.generation, 2)
}

async function checkTimeOut({ hasty, direct, proxy }: Bench): Promise<void> {
  const options = { sleep, kinds: conformanceKinds }
  const store = kubernetesStore(hasty, options)
  proxy.holdAnswers()
  const answer = await failureIn(store.create(pool('late-answer', { spec: { text: 'x'.repeat(40_000) } })))
  proxy.cut()
  assert.equal(answer.code, 'STORE_OUTCOME_UNKNOWN', JSON.stringify(answer.context))
  assert.match(JSON.stringify(answer.context), /abort|time-?out/i)
  await valueIn(kubernetesStore(direct, options).get(ref('late-answer')))
  assert.equal((await valueIn(store.get(ref('late-answer')))).metadata.generation, 1)
}

/**
 * Each writer is alone with its object: whoever is told of a conflict has lost against itself. That
 * may only be against the write before, which came when its connection had been cut already.
 */
async function checkCuts({ client, direct, proxy }: Bench): Promise<void> {
  const options = { sleep, kinds: conformanceKinds }
  const store = kubernetesStore(client, options)
  const other = kubernetesStore(direct, options)
  const codes: string[] = []
  const counts: { [name: string]: number } = {}
  let isOver = false
  const write = async (name: string) => {
    let last = await valueIn(other.create(pool(name, { spec: { count: 0 } })))
    counts[name] = 0
    let wasLost = false
    while (!isOver) {
      const before: number = counts[name]!
      const written = await store.update({ ...last, spec: { count: before + 1 } })
      last = written.ok ? written.value : await valueIn(other.get(ref(name)))
      const { count } = last.spec as { readonly count: number }
      const code = written.ok ? 'ok' : written.failure.code
      const isLate = code === 'STORE_CONFLICT' && wasLost && count === before + 1
      if (!written.ok && !isLate) codes.push(code)
      wasLost = code === 'STORE_OUTCOME_UNKNOWN' && count === before
      assert.ok(count === before + 1 || (!written.ok && count === before), `${name}: ${count}`)
      counts[name] = count
    }
  }
  const names = ['cut-1', 'cut-2', 'cut-3', 'cut-4']
  const writing = Promise.all(names.map(write))
  const lost = () => codes.filter((code) => code === 'STORE_OUTCOME_UNKNOWN').length
  // ever more slowly, so that something gets through on a slow machine too
  for (let pauseMs = 10; pauseMs < 3000 && !(lost() > 10 && names.every((name) => counts[name]! > 2)); pauseMs *= 1.1) {
    await sleep(pauseMs)
    proxy.cut()
  }
  isOver = true
  await writing
  assert.ok(
    lost() > 0 && names.every((name) => counts[name]! > 0),
    `${lost()} answers were lost, ${JSON.stringify(counts)}`,
  )
  assert.deepEqual(
    [...new Set(codes)].filter((code) => code !== 'STORE_OUTCOME_UNKNOWN' && code !== 'STORE_IO'),
    [],
  )
}

/**
 * Of config maps the server takes an update without a version for one that does not mind what is
 * there.
 */
async function checkGuards(client: KubernetesClient): Promise<void> {
  const store = kubernetesStore(client, { sleep })
  const place = { apiVersion: 'v1', kind: 'ConfigMap', namespace: NAMESPACE, name: 'guards' }
  const { apiVersion, kind, namespace, name } = place
  const made = await valueIn(store.create({ apiVersion, kind, metadata: { namespace, name } }))
  const after = await valueIn(store.patch(place, { data: { a: '1' } }))
  const { uid, resourceVersion } = made.metadata
  for (const undoing of [
    { op: 'remove', path: '/metadata/resourceVersion' },
    { op: 'replace', path: '/metadata/resourceVersion', value: '' },
    { op: 'replace', path: '/metadata/resourceVersion', value: after.metadata.resourceVersion },
    { op: 'replace', path: '/metadata', value: { namespace, name, uid } },
  ] as const) {
    const patch = [undoing, { op: 'add', path: '/data', value: { a: '2' } }] as const
    assert.equal(
      await codeIn(store.patch(place, patch, { resourceVersion })),
      'STORE_CONFLICT',
      JSON.stringify(undoing),
    )
  }
  const another = [{ op: 'remove', path: '/metadata/uid' }] as const
  assert.equal(
    await codeIn(store.patch(place, another, { uid: 'b2a0c7a5-27b1-4a2a-8b54-0d1f4b0e4f3c' })),
    'STORE_CONFLICT',
  )
  assert.deepEqual(await valueIn(store.get(place)), after)
}

/** client-node splits what it watches at these too. */
async function checkLines(store: Store): Promise<void> {
  const query = { apiVersion: `${GROUP}/v1`, kind: 'ConformancePool', namespace: NAMESPACE, labels: { lines: 'yes' } }
  const events = store.watch(query)[Symbol.asyncIterator]()
  await events.next()
  const text = 'a\u2028b\u2029c\r\nd\u0085e\ufefff'
  await valueIn(store.create(pool('lines', { spec: { text, '\u2028': 1 }, metadata: { labels: { lines: 'yes' } } })))
  assert.equal(await nextObject(events, 10), 'ADDED lines')
  await events.return?.()
}

/** Events of a watch, with a time-out. */
async function nextObject(events: AsyncIterator<WatchEvent>, seconds: number): Promise<string> {
  for (;;) {
    const late = sleep(paced(seconds) * 1000, 'late', { ref: false })
    const step = await Promise.race([events.next(), late])
    if (typeof step === 'string') throw new Error(`nothing within ${seconds} s`)
    if (step.done === true) throw new Error('the watch has ended')
    if (step.value.type === 'ERROR') throw new Error(JSON.stringify(step.value.failure))
    if (step.value.type !== 'BOOKMARK') return `${step.value.type} ${step.value.object.metadata.name}`
  }
}

async function checkQuietWatch(store: Store): Promise<void> {
  const query = { apiVersion: `${GROUP}/v1`, kind: 'ConformancePool', namespace: NAMESPACE, labels: { quiet: 'yes' } }
  const events = store.watch(query)[Symbol.asyncIterator]()
  const first = await events.next()
  assert.equal(first.value.type, 'BOOKMARK')
  // the server ends a connection after 25 s, and a client may have done so before
  await sleep(28_000)
  const next = nextObject(events, 10)
  await valueIn(store.create(pool('quiet', { metadata: { labels: { quiet: 'yes' } } })))
  assert.equal(await next, 'ADDED quiet')
  await events.return?.()
}

async function checkRestart({ server, direct }: Bench): Promise<void> {
  const store = kubernetesStore(direct, { sleep, kinds: conformanceKinds })
  const query = { apiVersion: `${GROUP}/v1`, kind: 'ConformancePool', namespace: NAMESPACE }
  const events = store.watch(query)[Symbol.asyncIterator]()
  await events.next()
  const next = nextObject(events, 60).catch((error: Error) => error.message)
  await server.kill()
  const refused = await failureIn(store.create(pool('refused')))
  assert.equal(refused.code, 'STORE_IO', JSON.stringify(refused.context))
  await server.restart()
  assert.equal(await codeIn(store.get(ref('refused'))), 'STORE_NOT_FOUND')
  await valueIn(store.create(pool('restarted')))
  // the server has forgotten what was before it began: only if nothing was, a watch can go on
  const told = await next
  assert.ok(told === 'ADDED restarted' || told.includes('STORE_VERSION_GONE'), told)
  await events.return?.()
}
