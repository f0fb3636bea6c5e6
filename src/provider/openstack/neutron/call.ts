import * as z from 'zod'
import type { ExternalResult } from '../../../plan/index.js'
import { CallFailure, errorIn, failCall, failureOf, foreignText, isRefusal, jsonOf } from './failure.js'
import type { Login } from './login.js'
import { type CloudRequest, type CloudResponse, queryOf, type SendRequest } from './request.js'
import { messageOf, type Session, type Sessions } from './session.js'

/**
 * The share of the time of a call after which it ends with a failure: before the limit in the
 * contract of `Cloud`.
 */
const CALL_SHARE = 55 / 60
/** The share for one request. */
const REQUEST_SHARE = 30 / 60
/**
 * The share that has to be left for a request that changes something: its late effects then happen
 * within the time of the call, too.
 */
const CHANGE_SHARE = 25 / 60
const PAGE_SIZE = 500
/** More pages are a defect of the cloud. */
const MAX_PAGES = 2000
/** How often a list is restarted because the last element of a page was deleted meanwhile. */
const MAX_RESTARTS = 3
/** The maximum length of an answer, in characters. */
const MAX_ANSWER = 32_000_000

const ID = /^[\w-]{1,255}$/u

/** A part of a path. @throws CallFailure for a text that is not the id of an object */
export function idOf(text: string): string {
  return ID.test(text) ? text : failCall(`not an id: ${foreignText(text, [])}`, { retryable: false })
}

interface Asked {
  /** Its purpose, in a message behind "cannot". */
  readonly what: string
  readonly method: CloudRequest['method']
  /** Behind the endpoint. */
  readonly path: string
  readonly body?: unknown
  /** The revision that the object must still have. */
  readonly revision?: number | null | undefined
  /** Statuses that are not failures, beside 2xx. */
  readonly expected?: readonly number[]
}

type ListQuery = { readonly [name: string]: string | readonly string[] | undefined }

/** The id of an element of a list; empty: it has none. */
function elementId(item: unknown): string {
  const { id } = (item ?? {}) as { readonly id?: unknown }
  return typeof id === 'string' ? id : ''
}

/** The first member that is not of the expected form; empty: the whole value. */
function placeOf(error: z.ZodError): string {
  return error.issues[0]?.path.map(String).join('.') ?? ''
}

export interface NeutronCallOptions {
  readonly send: SendRequest
  readonly now: () => number
  readonly sessions: Sessions
  readonly login: () => Promise<Login>
  /** How long a call may take, in milliseconds. */
  readonly callMs: number
}

/** The requests of one call of the adapter, and whether one of them may have changed something. */
export class NeutronCall {
  readonly #options: NeutronCallOptions
  readonly #deadlineMs: number
  #login: Login | undefined
  #token = ''
  #mayHaveChanged = false

  constructor(options: NeutronCallOptions) {
    this.#options = options
    this.#deadlineMs = options.now() + options.callMs * CALL_SHARE
  }

  /** The result of a call whose requests `action` makes. `changes`: the call changes something. */
  async answer<T>(changes: boolean, action: () => Promise<T>): Promise<ExternalResult<T>> {
    try {
      return { ok: true, value: await action() }
    } catch (error) {
      const failure =
        error instanceof CallFailure
          ? error.failure
          : { message: `unexpected error: ${this.#foreign(messageOf(error))}`, retryable: true }
      return { ok: false, failure: { ...failure, ...(changes && !this.#mayHaveChanged && { nothingDone: true }) } }
    }
  }

  /** The time that is left, in milliseconds. */
  get leftMs(): number {
    return this.#deadlineMs - this.#options.now()
  }

  /** The login of the credentials. */
  async login(): Promise<Login> {
    this.#login ??= await this.#options.login()
    return this.#login
  }

  /** The id of the project of the credentials; empty: they have none. */
  async project(): Promise<string> {
    return (await this.#open()).project
  }

  /** A request whose answer has to match a schema. @throws CallFailure */
  async ask<T>(asked: Asked, shape: z.ZodType<T>): Promise<T> {
    const response = await this.send(asked)
    return this.#read(asked.what, response, shape)
  }

  /** As {@link ask}, for one object; `undefined`: it does not exist. */
  async find<T>(what: string, path: string, shape: z.ZodType<T>): Promise<T | undefined> {
    const response = await this.send({ what, method: 'GET', path, expected: [404] })
    return response.status === 404 ? undefined : this.#read(what, response, shape)
  }

  /**
   * All elements of a list.
   *
   * @param problems gets a sentence for each element of another form; left out: one is a failure
   * @throws CallFailure, also for a list that may not be whole
   */
  async list<T>(collection: string, query: ListQuery, shape: z.ZodType<T>, problems?: string[]): Promise<readonly T[]> {
    const what = `list ${collection}`
    const found: T[] = []
    for (const [id, item] of await this.#pages(what, collection, query)) {
      const read = shape.safeParse(item)
      if (read.success) found.push(read.data)
      else {
        const problem = `${collection} ${this.#foreign(id)}: ${placeOf(read.error)} is missing or of another type`
        if (problems === undefined) return failCall(`cannot ${what}: ${problem}`, { retryable: true })
        problems.push(problem)
      }
    }
    return found
  }

  /**
   * The elements of a list by their ids, page by page. The last page is empty, or has links and
   * none to a next page: Neutron links each page to the one before.
   */
  async #pages(what: string, collection: string, query: ListQuery): Promise<ReadonlyMap<string, unknown>> {
    const page = z.looseObject({
      [collection]: z.array(z.unknown()),
      [`${collection}_links`]: z.array(z.looseObject({ rel: z.string() })).optional(),
    })
    let restarts = 0
    let found = new Map<string, unknown>()
    for (let pages = 0, marker: string | undefined; pages < MAX_PAGES; pages++) {
      const path = `/v2.0/${collection}${queryOf({ ...query, sort_key: 'id', limit: String(PAGE_SIZE), marker })}`
      const response = await this.send({ what, method: 'GET', path, expected: marker === undefined ? [] : [404] })
      if (response.status === 404) {
        if (++restarts > MAX_RESTARTS) return failCall(`cannot ${what}: it changes too fast`, { retryable: true })
        found = new Map()
        marker = undefined
        continue
      }
      const answered = this.#read(what, response, page)
      const items = answered[collection] as readonly unknown[]
      const links = answered[`${collection}_links`] as readonly { readonly rel: string }[] | undefined
      const ids = items.map(elementId)
      if (ids.some((id) => found.has(id)))
        return failCall(`cannot ${what}: a page is repeated, so the list may not be whole`, { retryable: true })
      for (const [nth, id] of ids.entries()) found.set(id || `number ${found.size}`, items[nth])
      const isLast = links?.every(({ rel }) => rel !== 'next') === true && items.length < PAGE_SIZE
      if (isLast || items.length === 0) return found
      marker = ids.filter((id) => id !== '').at(-1)
      if (marker === undefined) return failCall(`cannot ${what}: a page without ids`, { retryable: true })
    }
    return failCall(`cannot ${what}: more than ${MAX_PAGES} pages`, { retryable: true })
  }

  /**
   * Reverts the change of this call: if the request succeeds, the call has changed nothing. @throws
   * CallFailure
   */
  async undo(asked: Asked): Promise<void> {
    await this.send(asked)
    this.#mayHaveChanged = false
  }

  /** A request with the token, repeated with a new token if that is refused. @throws CallFailure */
  async send(asked: Asked): Promise<CloudResponse> {
    const first = await this.#open()
    const response = await this.#sendOnce(asked, first)
    if (response.status !== 401) return this.#checked(asked, response)
    const login = await this.login()
    this.#options.sessions.invalidate(login, first)
    return this.#checked(asked, await this.#sendOnce(asked, await this.#open()))
  }

  async #open(): Promise<Session> {
    const session = await this.#options.sessions.open(await this.login(), this.#timeoutMs())
    this.#token = session.token
    return session
  }

  async #sendOnce({ what, method, path, body, revision }: Asked, session: Session): Promise<CloudResponse> {
    if (method !== 'GET' && this.leftMs < this.#options.callMs * CHANGE_SHARE)
      return failCall(`cannot ${what}: no time is left`, { retryable: true })
    const request: CloudRequest = {
      method,
      url: `${session.endpoint}${path}`,
      headers: {
        accept: 'application/json',
        'x-auth-token': session.token,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(typeof revision === 'number' && { 'if-match': `revision_number=${revision}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      timeoutMs: this.#timeoutMs(),
    }
    const before = this.#mayHaveChanged
    if (method !== 'GET') this.#mayHaveChanged = true
    let response: CloudResponse
    try {
      response = await this.#options.send(request)
    } catch (error) {
      return failCall(`cannot ${what}: no answer: ${this.#foreign(messageOf(error))}`, { retryable: true })
    }
    if (isRefusal(response.status)) this.#mayHaveChanged = before
    return response
  }

  #checked({ what, expected = [] }: Asked, response: CloudResponse): CloudResponse {
    const { status } = response
    if ((status >= 200 && status < 300) || expected.includes(status)) return response
    const error = errorIn(response, this.#secrets())
    throw new CallFailure(failureOf(what, error, response, this.#options.now()))
  }

  #read<T>(what: string, { text }: CloudResponse, shape: z.ZodType<T>): T {
    const read = shape.safeParse(text.length > MAX_ANSWER ? undefined : jsonOf(text))
    if (read.success) return read.data
    const where = placeOf(read.error)
    const problem = where === '' ? this.#foreign(text) || 'an empty answer' : `${where} is missing or of another type`
    return failCall(`cannot ${what}: the answer is not what Neutron answers: ${problem}`, { retryable: true })
  }

  #timeoutMs(): number {
    const left = this.leftMs
    const { callMs } = this.#options
    if (left <= 0) {
      return failCall(`no end after ${Math.round((callMs * CALL_SHARE) / 100) / 10} s`, { retryable: true })
    }
    return Math.ceil(Math.min(left, callMs * REQUEST_SHARE))
  }

  #foreign(text: string): string {
    return foreignText(text, this.#secrets())
  }

  #secrets(): readonly string[] {
    return [...(this.#login?.secrets ?? []), this.#token]
  }
}
