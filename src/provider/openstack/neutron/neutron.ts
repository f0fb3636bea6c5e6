import type { Json } from '../../../crd/meta/object.js'
import { check, type KindOf } from '../../../errors/check.js'
import { refuse } from '../../../errors/refuse.js'
import type { ExternalResult } from '../../../plan/index.js'
import { type Cloud, type CloudInput, MAX_CALL_SECONDS } from '../../external/cloud.js'
import type { ServerCloud } from '../server-cloud.js'
import { NeutronCall } from './call.js'
import { CallFailure } from './failure.js'
import { type CloudIdentity, identityOf, type Login, loginOf } from './login.js'
import { poolCalls } from './pools.js'
import type { SendRequest } from './request.js'
import { serverCalls } from './servers.js'
import { Sessions } from './session.js'
import { SubnetCache } from './subnets.js'
import { Tagger, upstreamTag } from './tags.js'

/** The access of {@link neutron} to OpenStack. */
export interface NeutronOptions {
  readonly send: SendRequest
  /** Milliseconds since 1970. */
  readonly now: () => number
  /**
   * Reads the clouds.yaml of an identity, and parses it. Called for each call of the adapter:
   * return the content of a watched Secret, so that no call has to read one. Its failure messages
   * are shown unchanged. An exception is not shown: an error of a parser can contain a part of the
   * Secret.
   */
  readonly credentials: (identity: CloudIdentity) => Promise<ExternalResult<unknown>>
  /**
   * The tag of the floating IPs of a pool; `undefined`: none. Default that of upstream's
   * controller: `cluster-api-provider-openstack-fip-pool-<pool>`.
   */
  readonly tagOf?: ((pool: CloudInput['pool']) => string | undefined) | undefined
  /**
   * How long a call may take, in seconds, from 1 to 60: at most the `callSeconds` of pools and
   * servers, which rely on it. A request of a call gets half of that. Default 60.
   */
  readonly callSeconds?: number | undefined
}

const NEUTRON_OPTIONS: KindOf<NeutronOptions> = {
  send: 'function',
  now: 'function',
  credentials: 'function',
  tagOf: 'function?',
  callSeconds: 'number?',
}

/**
 * The adapter between pools or servers and OpenStack: floating IPs of Neutron, with tokens of
 * Keystone v3.
 *
 * - The marker is in the description of a floating IP, which the call that creates it sets.
 * - `access` is `{ identityRef, namespace }` of the pool or the server.
 * - Changes require the marker and the revision that were seen (`If-Match`): another change in the
 *   meantime is a retryable failure.
 * - A Neutron that does not store the description is found by the first creation, which is undone.
 * - Lists are limited to the project of the credentials. They are read page by page.
 * - A floating IP that is attached to a port is not deleted.
 * - No message has a password, a secret or a token.
 * - A tag that could not be added to a new floating IP is added when the pool lists or marks it the
 *   next time.
 *
 * A call is one or a few requests, and ends within 55 s (55/60 of `callSeconds`) if `send` respects
 * its time-outs. Tokens and subnets are cached: with both in the cache, a creation is two requests,
 * a mark two or three, a deletion two, and a list one for each 500 floating IPs of the network.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 *
 * @example
 * const send: SendRequest = async ({ method, url, headers, body, timeoutMs }) => {
 *   const signal = AbortSignal.timeout(timeoutMs)
 *   const answer = await fetch(url, { method, headers, body: body ?? null, signal, redirect: 'manual' })
 *   return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() }
 * }
 * const auth = { auth_url: 'https://keystone.example.com', username: 'capo', password: '…', project_name: 'web' }
 * const credentials = async () => ({ ok: true, value: { clouds: { openstack: { auth } } } })
 * const cloud = neutron({ send, now: Date.now, credentials })
 */
export function neutron(options: NeutronOptions): Cloud & ServerCloud {
  check('neutron', 'options', options, NEUTRON_OPTIONS)

  const { send, now, tagOf = upstreamTag, callSeconds = MAX_CALL_SECONDS } = options
  if (!(callSeconds >= 1 && callSeconds <= MAX_CALL_SECONDS)) {
    refuse('neutron', 'callSeconds', `seconds, 1 to ${MAX_CALL_SECONDS}`, callSeconds)
  }
  const sessions = new Sessions(send, now)
  const callMs = callSeconds * 1000
  const begin = (access: Json) =>
    new NeutronCall({ send, now, sessions, callMs, login: () => readLogin(options, access) })
  return {
    ...poolCalls({ begin, subnets: new SubnetCache(now), tagger: new Tagger(tagOf, now) }),
    ...serverCalls(begin),
  }
}

async function readLogin({ credentials }: NeutronOptions, access: Json): Promise<Login> {
  const identity = identityOf(access)
  const read = await readCredentials(credentials, identity)
  if (!read.ok) throw new CallFailure(read.failure)
  return loginOf(read.value, identity)
}

async function readCredentials(
  credentials: NeutronOptions['credentials'],
  { type, name, namespace, cloudName }: CloudIdentity,
): Promise<ExternalResult<unknown>> {
  try {
    return await credentials({ type, name, namespace, cloudName })
  } catch {
    const message = `cannot read the credentials ${type} ${name} of namespace ${namespace}`
    return { ok: false, failure: { message, retryable: true, reason: 'PoolNotReady' } }
  }
}
