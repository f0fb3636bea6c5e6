import * as z from 'zod'
import { CallFailure, errorIn, failCall, failureOf, foreignText, jsonOf } from './failure.js'
import type { Login } from './login.js'
import { type CloudResponse, headerOf, type SendRequest } from './request.js'

/** How long before its end a token is renewed, in milliseconds. */
const RENEWAL_MARGIN_MS = 60_000
/**
 * How long refused credentials are not sent again, in milliseconds: Keystone can lock an account
 * after some attempts.
 */
const REFUSED_FOR_MS = 10_000
const MAX_SESSIONS = 256

/** A token, with the endpoint that it gives access to. */
export interface Session {
  readonly token: string
  /** The endpoint of Neutron, without a version and a final slash. */
  readonly endpoint: string
  /** The id of the project; empty: the token has none. */
  readonly project: string
  /** When it is renewed, by the clock of this process. */
  readonly renewAtMs: number
}

const TOKEN = z.looseObject({
  token: z.looseObject({
    expires_at: z.string(),
    issued_at: z.string().optional(),
    project: z.looseObject({ id: z.string() }).optional(),
    catalog: z
      .array(
        z.looseObject({
          type: z.string(),
          endpoints: z
            .array(
              z.looseObject({
                url: z.string(),
                interface: z.string(),
                region: z.string().nullish(),
                region_id: z.string().nullish(),
              }),
            )
            .default([]),
        }),
      )
      .default([]),
  }),
})
type Catalog = z.infer<typeof TOKEN>['token']['catalog']

interface Entry {
  session?: Session | undefined
  /** The request that is in flight. */
  pending?: Promise<Session> | undefined
  refusal?: { readonly failure: CallFailure; readonly untilMs: number } | undefined
}

/** Tokens by credentials: one request at a time for each. */
export class Sessions {
  readonly #entries = new Map<string, Entry>()
  readonly #send: SendRequest
  readonly #now: () => number

  constructor(send: SendRequest, now: () => number) {
    this.#send = send
    this.#now = now
  }

  /**
   * A session that is valid for at least a minute.
   *
   * @throws CallFailure
   */
  async open(login: Login, timeoutMs: number): Promise<Session> {
    const entry = this.#entryOf(login)
    const nowMs = this.#now()
    if (entry.session !== undefined && nowMs < entry.session.renewAtMs) return entry.session
    if (entry.refusal !== undefined && nowMs < entry.refusal.untilMs) throw entry.refusal.failure
    entry.pending ??= this.#authenticate(login, entry, timeoutMs).finally(() => {
      entry.pending = undefined
    })
    return entry.pending
  }

  /** Called when the token of a session was refused: the next `open` requests another one. */
  invalidate(login: Login, { token }: Session): void {
    const entry = this.#entryOf(login)
    if (entry.session?.token === token) entry.session = undefined
  }

  #entryOf(login: Login): Entry {
    const key = JSON.stringify(login)
    const entry = this.#entries.get(key) ?? {}
    // the last used entry is the last one
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= MAX_SESSIONS) break
      this.#entries.delete(oldest)
    }
    return entry
  }

  async #authenticate(login: Login, entry: Entry, timeoutMs: number): Promise<Session> {
    const sentAtMs = this.#now()
    const response = await this.#post(login, timeoutMs)
    if (response.status !== 201 && response.status !== 200) {
      const error = errorIn(response, login.secrets)
      const failure = new CallFailure(failureOf('get a token from Keystone', error, response, this.#now()))
      if (response.status === 401) entry.refusal = { failure, untilMs: this.#now() + REFUSED_FOR_MS }
      throw failure
    }
    entry.refusal = undefined
    entry.session = sessionOf(login, response, sentAtMs)
    return entry.session
  }

  async #post({ authUrl, auth, secrets }: Login, timeoutMs: number): Promise<CloudResponse> {
    try {
      return await this.#send({
        method: 'POST',
        url: `${authUrl}/auth/tokens`,
        headers: { accept: 'application/json', 'content-type': 'application/json' },
        body: JSON.stringify({ auth }),
        timeoutMs,
      })
    } catch (error) {
      return failCall(`no answer from Keystone: ${foreignText(messageOf(error), secrets)}`, { retryable: true })
    }
  }
}

/** The message of an exception. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function sessionOf(login: Login, response: CloudResponse, sentAtMs: number): Session {
  const read = TOKEN.safeParse(jsonOf(response.text))
  const token = headerOf(response, 'x-subject-token')
  if (!read.success || !token) return failCall('Keystone has answered without a token', { retryable: true })
  const { expires_at, issued_at, project, catalog } = read.data.token
  const expiresAtMs = Date.parse(expires_at)
  const issuedAtMs = Date.parse(issued_at ?? '')
  if (Number.isNaN(expiresAtMs))
    return failCall('Keystone has answered with a token without an end', { retryable: true })
  // by the clock of Keystone, if the answer has the time of issue: the local clock may be wrong
  const lifetimeMs = expiresAtMs - (Number.isNaN(issuedAtMs) ? sentAtMs : issuedAtMs)
  return {
    token,
    endpoint: endpointOf(login, catalog),
    project: project?.id ?? '',
    renewAtMs: sentAtMs + lifetimeMs - RENEWAL_MARGIN_MS,
  }
}

function endpointOf(login: Login, catalog: Catalog): string {
  const { region, interface: wanted, networkEndpoint } = login
  const endpoints = catalog.filter(({ type }) => type === 'network').flatMap((service) => service.endpoints)
  const found = endpoints.find(
    (it) => it.interface === wanted && (region === '' || it.region === region || it.region_id === region),
  )
  const url = networkEndpoint || found?.url
  if (url === undefined) {
    const where = region === '' ? 'any region' : `region ${foreignText(region, login.secrets)}`
    return failCall(`the catalog of Keystone has no ${wanted} endpoint of the network service in ${where}`, {
      retryable: true,
      reason: 'PoolNotReady',
    })
  }
  return url.replace(/\/+$/u, '').replace(/\/v2\.0$/u, '')
}
