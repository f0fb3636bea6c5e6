import type { CloudResponse } from '../../provider/openstack/neutron/request.js'
import { json, type ParsedRequest } from './http.js'
import type { FakeUser, NeutronHandlerOptions } from './neutron-options.js'
import type { FakeCloudWorld } from './world.js'

interface Identity {
  readonly methods?: readonly string[]
  readonly password?: {
    readonly user?: { readonly name?: string; readonly id?: string; readonly password?: string }
  }
  readonly application_credential?: {
    readonly id?: string
    readonly name?: string
    readonly user?: { readonly name?: string }
    readonly secret?: string
  }
}
interface AuthBody {
  readonly auth?: {
    readonly identity?: Identity
    readonly scope?: { readonly project?: { readonly id?: string; readonly name?: string } }
  }
}

/** Tokens of a fake cloud. */
export class Keystone {
  readonly #cloud: FakeCloudWorld
  readonly #options: NeutronHandlerOptions
  readonly #tokens = new Map<string, { readonly user: FakeUser; readonly endsAtMs: number }>()
  #lastToken = 0

  constructor(cloud: FakeCloudWorld, options: NeutronHandlerOptions) {
    this.#cloud = cloud
    this.#options = options
  }

  revoke(): void {
    this.#tokens.clear()
  }

  /** The user of a token that is valid. */
  userOf(token: string): FakeUser | undefined {
    const found = this.#tokens.get(token)
    return found !== undefined && this.#cloud.nowMs < found.endsAtMs ? found.user : undefined
  }

  async authenticate({ method, body }: ParsedRequest): Promise<CloudResponse> {
    if (method !== 'POST') return json(404, { error: { code: 404, message: 'only POST' } })
    const user = this.#loginOf((body ?? {}) as AuthBody)
    if (user === undefined) {
      return json(401, { error: { code: 401, message: 'The request you have made requires authentication.' } })
    }
    const issuedAtMs = await this.#cloud.perform('authenticate', () => this.#cloud.nowMs)
    const endsAtMs = issuedAtMs + (this.#options.tokenSeconds ?? 3600) * 1000
    const token = `token-${++this.#lastToken}`
    this.#tokens.set(token, { user, endsAtMs })
    const answer = {
      expires_at: new Date(endsAtMs).toISOString(),
      issued_at: new Date(issuedAtMs).toISOString(),
      project: { id: user.project, name: user.project, domain: { id: 'default', name: 'Default' } },
      catalog: [{ type: 'network', name: 'neutron', endpoints: this.#endpoints() }],
    }
    return json(201, { token: answer }, { 'X-Subject-Token': token })
  }

  #endpoints() {
    const { url = 'http://openstack.test', region = 'RegionOne' } = this.#options
    return ['public', 'internal'].map((it) => ({ interface: it, url, region, region_id: region }))
  }

  #loginOf({ auth }: AuthBody): FakeUser | undefined {
    const { identity, scope } = auth ?? {}
    const [method] = identity?.methods ?? []
    if (method === 'application_credential') {
      const { id, secret } = identity?.application_credential ?? {}
      if (scope !== undefined || id === undefined) return undefined
      return this.#options.users.find(({ applicationCredential: it }) => it?.id === id && it.secret === secret)
    }
    const { name, id = name, password } = identity?.password?.user ?? {}
    const project = scope?.project?.id ?? scope?.project?.name
    return this.#options.users.find((it) => it.name === id && it.password === password && it.project === project)
  }
}
