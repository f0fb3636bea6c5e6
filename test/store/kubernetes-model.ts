import type { KindInfo, KubeObject, ObjectRef } from 'ipam-kit/crd/meta'
import type { ListQuery, Store, StoreFailure, WatchEvent } from 'ipam-kit/store'
import type { KubernetesClient } from 'ipam-kit/store/kubernetes'
import { memoryStore } from 'ipam-kit/store/memory'
import type { KubernetesAnswer, KubernetesRequest } from '../../src/store/kubernetes/client.js'
import type { LabelRequirement } from '../../src/store/store.js'

type Object = { readonly [key: string]: unknown }

/**
 * As much of an API server as a store asks for, over the store in memory: its paths, its answers,
 * and where it has ways of its own (the order of namespaces, what a patch of a status ignores,
 * numbers that are none), those.
 */
export class ApiServerModel implements KubernetesClient {
  readonly requests: KubernetesRequest[] = []
  readonly watched: { readonly path: string; readonly query: Object }[] = []
  /** What happens before a request is served. An answer is given in place of it. */
  before: (request: KubernetesRequest) => KubernetesAnswer | undefined = () => undefined
  /** What happens to an answer. */
  after: (answer: KubernetesAnswer, request: KubernetesRequest) => KubernetesAnswer = (answer) => answer
  readonly store: Store
  readonly #kinds: readonly KindInfo[]
  readonly #open = new Set<(error: unknown) => void>()

  constructor(kinds: readonly KindInfo[]) {
    this.#kinds = kinds
    this.store = memoryStore({ now: Date.now, kinds })
  }

  async request(request: KubernetesRequest): Promise<KubernetesAnswer> {
    this.requests.push(request)
    const instead = this.before(request)
    if (instead !== undefined) return instead
    // over a network nothing is answered at once
    await Promise.resolve()
    return this.after(await this.#serve(request), request)
  }

  async watch(
    path: string,
    query: Object,
    onEvent: (type: string, object: unknown) => void,
    done: (error: unknown) => void,
  ) {
    this.watched.push({ path, query })
    const route = this.#route(path)
    if (route === undefined) throw Object.assign(new Error('Not Found'), { statusCode: 404 })
    const given = Object.entries(query).filter(([, value]) => value !== undefined)
    const selected = this.#select(route, new Map(given.map(([key, value]) => [key, `${value}`])))
    const events = this.store.watch(selected, { resourceVersion: `${query.resourceVersion}` })[Symbol.asyncIterator]()
    const end = (error: unknown) => {
      if (!this.#open.delete(end)) return
      void events.return?.()
      done(error)
    }
    this.#open.add(end)
    void this.#tell(events, onEvent, end)
    return { abort: () => end(Object.assign(new Error('aborted'), { name: 'AbortError' })) }
  }

  /** Ends all watches. */
  end(error: unknown): void {
    for (const end of [...this.#open]) end(error)
  }

  get openWatches(): number {
    return this.#open.size
  }

  async #tell(
    events: AsyncIterator<WatchEvent>,
    onEvent: (type: string, object: unknown) => void,
    end: (error: unknown) => void,
  ): Promise<void> {
    for (;;) {
      const { value, done } = await events.next()
      if (done === true || !this.#open.has(end)) return
      const event = value as WatchEvent
      if (event.type === 'BOOKMARK') {
        onEvent('BOOKMARK', { metadata: { resourceVersion: event.resourceVersion } })
      } else if (event.type === 'ERROR') {
        onEvent('ERROR', statusOf(410, 'Expired', `too old resource version: 1 (${oldestOf(event.failure)})`))
        end(null)
      } else onEvent(event.type, event.object)
    }
  }

  async #serve({ method, path, headers, body }: KubernetesRequest): Promise<KubernetesAnswer> {
    const [bare = '', query = ''] = path.split('?')
    const parameters = new Map(new URLSearchParams(query))
    const discovered = this.#discover(bare)
    if (discovered !== undefined) return discovered
    const route = this.#route(bare)
    if (route === undefined) return { status: 404, body: '404 page not found\n' }
    const json: unknown = body === undefined ? undefined : JSON.parse(body)
    const options = route.subresource === 'status' ? ({ subresource: 'status' } as const) : {}
    switch (method) {
      case 'GET':
        return route.ref === undefined
          ? this.#list(route, parameters)
          : answerOf(route, await this.store.get(route.ref))
      case 'POST':
        return answerOf(route, await this.store.create(json as KubeObject), 201)
      case 'PUT':
        return answerOf(route, await this.store.update(json as KubeObject, options))
      case 'PATCH':
        return this.#patch(route, json as Object, headers['content-type'] ?? '')
      case 'DELETE':
        return this.#delete(route, (json ?? preconditionsIn(parameters)) as Object)
    }
  }

  /**
   * What is merged first, then the version; of another uid it says that it cannot be changed, or
   * of a status nothing.
   */
  async #patch(route: Route, patch: unknown, contentType: string): Promise<KubernetesAnswer> {
    const isOperations = contentType === 'application/json-patch+json'
    if (!isOperations && contentType !== 'application/merge-patch+json') return refusal(415, 'UnsupportedMediaType', '')
    const { metadata } = patch as { readonly metadata?: { readonly uid?: unknown } }
    const uid = metadata?.uid
    const withoutUid =
      metadata === undefined ? patch : { ...(patch as Object), metadata: { ...metadata, uid: undefined } }
    const current = await this.store.get(route.ref!)
    if (current.ok && uid !== undefined && uid !== current.value.metadata.uid && route.subresource === undefined) {
      return refusal(422, 'Invalid', 'field is immutable', [{ field: 'metadata.uid', message: 'field is immutable' }])
    }
    const options = route.subresource === 'status' ? ({ subresource: 'status' } as const) : {}
    const patched = await this.store.patch(route.ref!, withoutUid as never, options)
    if (isOperations && !patched.ok && patched.failure.code === 'STORE_INVALID') return UNHELPFUL
    return answerOf(route, patched)
  }

  async #delete(route: Route, { preconditions, propagationPolicy }: Object): Promise<KubernetesAnswer> {
    const conditions = preconditions as { uid?: string; resourceVersion?: string } | undefined
    const options = propagationPolicy === undefined ? {} : { propagation: propagationPolicy as 'Background' }
    const gone = await this.store.delete(route.ref!, { ...conditions, ...options })
    if (!gone.ok || (await this.store.get(route.ref!)).ok) return answerOf(route, gone)
    const details = { name: route.ref!.name, kind: route.info.plural, uid: gone.value.metadata.uid }
    return { status: 200, body: JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Success', details }) }
  }

  async #list(route: Route, parameters: ReadonlyMap<string, string>): Promise<KubernetesAnswer> {
    const listed = await this.store.list(this.#select(route, parameters))
    if (!listed.ok) return refusal(400, 'BadRequest', JSON.stringify(listed.failure.context))
    const key = ({ metadata: { namespace = '', name } }: KubeObject) => `${namespace}/${name}`
    const token = parameters.get('continue')
    const [version = listed.value.resourceVersion, after = ''] = token?.split('|') ?? []
    if (token !== undefined && after === '') return refusal(400, 'BadRequest', 'continue key is not valid')
    const all = [...listed.value.items].sort((a, b) => (key(a) < key(b) ? -1 : 1)).filter((each) => key(each) > after)
    const limit = Number(parameters.get('limit') ?? all.length)
    const next = all.length > limit ? { continue: `${version}|${key(all[limit - 1]!)}` } : {}
    // as of kinds that the server is written for: the items do not say what they are
    const items = all.slice(0, limit).map(({ apiVersion: _1, kind: _2, ...rest }) => rest)
    return {
      status: 200,
      body: JSON.stringify({ kind: 'List', metadata: { resourceVersion: version, ...next }, items }),
    }
  }

  #select({ info, apiVersion, namespace }: Route, parameters: ReadonlyMap<string, string>): ListQuery {
    const fields = new Map((parameters.get('fieldSelector') ?? '').split(',').flatMap(fieldIn))
    const labelExpressions = (parameters.get('labelSelector') ?? '').split(/,(?![^(]*\))/).flatMap(requirementIn)
    return { apiVersion, kind: info.kind, namespace, fields: Object.fromEntries(fields), labelExpressions }
  }

  #route(path: string): Route | undefined {
    const [, group, version, namespace, plural, name, subresource] =
      /^\/(?:api|apis\/([^/]+))\/([^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(path) ??
      []
    const own = group === undefined ? 'v1' : `${group}/`
    const info = this.#kinds.find((each) => each.plural === plural && each.apiVersion.startsWith(own))
    if (info === undefined) return undefined
    const place = namespace === undefined ? {} : { namespace }
    const apiVersion = group === undefined ? 'v1' : `${group}/${version}`
    const isKnown = subresource === undefined || (subresource === 'status' && info.statusSubresource)
    if (!isKnown) return undefined
    if (name === undefined) return { info, apiVersion, namespace, ref: undefined, subresource }
    const ref = { apiVersion, kind: info.kind, ...place, name: decodeURIComponent(name) }
    return { info, apiVersion, namespace, ref, subresource }
  }

  #discover(path: string): KubernetesAnswer | undefined {
    const [, groupVersion, group] = /^\/apis\/(([^/]+)\/[^/]+)$/.exec(path) ?? []
    const kinds = this.#kinds.filter(({ apiVersion }) => apiVersion.startsWith(`${group}/`))
    if (kinds.length === 0) return undefined
    const resources = kinds.flatMap(({ plural, kind, namespaced, statusSubresource }) => [
      { name: plural, kind, namespaced },
      ...(statusSubresource ? [{ name: `${plural}/status`, kind, namespaced }] : []),
    ])
    return { status: 200, body: JSON.stringify({ kind: 'APIResourceList', groupVersion, resources }) }
  }
}

interface Route {
  readonly info: KindInfo
  readonly apiVersion: string
  readonly namespace: string | undefined
  readonly ref: ObjectRef | undefined
  readonly subresource: string | undefined
}

/** All that the server says of a JSON patch that does not fit. */
const UNHELPFUL = refusal(422, 'Invalid', 'the server rejected our request due to an error in our request')

export function statusOf(code: number, reason: string, message: string, details: object = {}): Object {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code }
}

export function refusal(
  code: number,
  reason: string,
  message: string,
  causes: readonly object[] = [],
): KubernetesAnswer {
  return { status: code, body: JSON.stringify(statusOf(code, reason, message, { causes })) }
}

function answerOf(
  { info, ref }: Route,
  result: { readonly ok: true; readonly value: KubeObject } | { readonly ok: false; readonly failure: StoreFailure },
  status = 200,
): KubernetesAnswer {
  if (result.ok) return { status, body: JSON.stringify(result.value) }
  const { code, context } = result.failure
  const details = { name: ref?.name, kind: info.plural }
  const answer = (of: number, reason: string, more = {}) => ({
    status: of,
    body: JSON.stringify(statusOf(of, reason, `${info.plural} "${ref?.name}": ${reason}`, { ...details, ...more })),
  })
  switch (code) {
    case 'STORE_NOT_FOUND':
      return answer(404, 'NotFound', { name: ref?.name ?? 'a' })
    case 'STORE_ALREADY_EXISTS':
      return answer(409, 'AlreadyExists')
    case 'STORE_CONFLICT':
      return answer(409, 'Conflict')
    case 'STORE_OBJECT_TOO_LARGE':
      return { status: 500, body: JSON.stringify({ ...statusOf(500, '', 'etcdserver: request is too large') }) }
    default: {
      const { path, problem } = context as { readonly path: string; readonly problem: string }
      return answer(422, 'Invalid', { causes: [{ field: path, message: problem }] })
    }
  }
}

function preconditionsIn(parameters: ReadonlyMap<string, string>): Object {
  const [uid, resourceVersion] = ['uid', 'resourceVersion'].map((name) => parameters.get(name))
  return { preconditions: { uid, resourceVersion }, propagationPolicy: parameters.get('propagationPolicy') }
}

function fieldIn(term: string): readonly (readonly [string, string])[] {
  if (term === '') return []
  const [path = '', value = ''] = term.split(/=(.*)/s)
  return [[path, value.replace(/\\(.)/g, '$1')]]
}

function requirementIn(term: string): readonly LabelRequirement[] {
  const [, key = '', word, list = ''] = /^(\S+) (in|notin) \((.*)\)$/.exec(term) ?? []
  if (word !== undefined) return [{ key, operator: word === 'in' ? 'In' : 'NotIn', values: list.split(',') }]
  if (term === '') return []
  if (term.startsWith('!')) return [{ key: term.slice(1), operator: 'DoesNotExist' }]
  const [name = '', value] = term.split('=')
  return [value === undefined ? { key: name, operator: 'Exists' } : { key: name, operator: 'In', values: [value] }]
}

function oldestOf({ context }: StoreFailure): string {
  return (context as { readonly oldest: string }).oldest
}
