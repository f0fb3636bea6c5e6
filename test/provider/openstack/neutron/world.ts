import { neutron } from 'ipam-kit/provider/openstack'
import { FakeCloud, neutronHandler } from 'ipam-kit/testing'
import type { NeutronOptions } from '../../../../src/provider/openstack/neutron/neutron.js'
import type { CloudRequest, CloudResponse } from '../../../../src/provider/openstack/neutron/request.js'
import type { NeutronHandlerOptions } from '../../../../src/testing/cloud/neutron-options.js'

export const pool = { namespace: 'office', name: 'public' }
export const access = { namespace: 'office', identityRef: { name: 'clouds', cloudName: 'one' } }
export const base = { pool, access }
export const PASSWORD = 'correct-horse'
export const marker = 'pool-uid/claim-uid'
export const tag = 'cluster-api-provider-openstack-fip-pool-public'

export const auth = {
  auth_url: 'http://openstack.test/v3',
  username: 'capo',
  password: PASSWORD,
  project_name: 'project',
}

/** Answers a request in place of the fake cloud, or `undefined`: the fake cloud answers. */
export type Intercept = (request: CloudRequest) => CloudResponse | undefined

export function worldWith(
  given: Partial<NeutronOptions> & { readonly handler?: Partial<NeutronHandlerOptions>; readonly auth?: object } = {},
) {
  const { handler: handled, auth: login = auth, ...options } = given
  const clock = { nowMs: Date.parse('2026-01-01T00:00:00Z') }
  const now = () => clock.nowMs
  const fake = new FakeCloud({ now })
  const network = fake.addNetwork({ name: 'public', cidrs: ['203.0.113.0/24'] }).id
  const handler = neutronHandler(fake, {
    users: [
      { name: 'capo', password: PASSWORD, project: 'project', applicationCredential: { id: 'cred', secret: PASSWORD } },
    ],
    ...handled,
  })
  const requests: CloudRequest[] = []
  const state: { intercept: Intercept } = { intercept: () => undefined }
  const send = async (request: CloudRequest) => {
    requests.push(request)
    return state.intercept(request) ?? (await handler.send(request))
  }
  const value = { clouds: { one: { auth: login } } }
  const cloud = neutron({ send, now, credentials: async () => ({ ok: true, value }), ...options })
  const create = (text = marker) => cloud.createAddress({ ...base, network, marker: text })
  const list = () => cloud.listAddresses({ ...base, network, markers: ['pool-uid/'], tags: [], addresses: [] })
  const count = (method: string, path: RegExp) =>
    requests.filter((it) => it.method === method && path.test(it.url)).length
  /** Answers the requests of a method and a path in this way, all of them or the first ones. */
  const answerWith = (
    method: string,
    path: RegExp,
    answer: Partial<CloudResponse>,
    times = Number.POSITIVE_INFINITY,
  ) => {
    state.intercept = (request) => {
      if (request.method !== method || !path.test(request.url) || times-- <= 0) return undefined
      return { status: 200, headers: {}, text: '', ...answer }
    }
  }
  return { clock, fake, network, handler, cloud, requests, state, create, list, count, answerWith }
}

/** An address as a pool has seen it. */
export function seenOf({
  id,
  marker: has = '',
  revision = '',
}: {
  id: string
  marker?: string
  revision?: string | undefined
}) {
  return { id, marker: has, revision }
}

export function neutronError(type: string, message: string): string {
  return JSON.stringify({ NeutronError: { type, message, detail: '' } })
}

/** The value of an answer that is none of a failure. */
export function unwrap<T>(
  result:
    | { readonly ok: true; readonly value: T }
    | { readonly ok: false; readonly failure: { readonly message: string } },
): T {
  if (!result.ok) throw new Error(result.failure.message)
  return result.value
}
