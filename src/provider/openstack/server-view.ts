import * as Address from '../../cidr/nouns/address.js'
import type { Condition, ConditionUpdate } from '../../claim/conditions.js'
import { setCondition } from '../../claim/index.js'
import type { Cluster } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { CLUSTER_NAME_LABEL } from '../../crd/cluster-api/names.js'
import { type Json, type KubeObject, labelOf, type ObjectRef, refOf } from '../../crd/meta/object.js'
import type { OpenStackServer } from '../../crd/openstack/machines.js'
import { FLOATING_ADDRESS_CONDITION, FLOATING_IP_ERROR_REASON } from '../../crd/openstack/names.js'
import { retryAfter } from '../../plan/calls.js'
import { type Effect, type ExternalFailure, guard, type Plan, patchStatus } from '../../plan/index.js'
import type { ConsumerInput } from '../consumer/plan.js'
import type { FloatingServerOutcome } from './outcome.js'
import {
  type ChangeInput,
  changeOf,
  type KnownOfServer,
  type Look,
  type ServerOperation,
  suffixOf,
} from './server-calls.js'

/** A server with all its objects and the last answers of the cloud. */
export interface ServerView {
  readonly server: OpenStackServer
  /** Its claim, which may not exist. */
  readonly claimRef: ObjectRef
  /** The claims with the name of its claim, or that it owns. */
  readonly claims: readonly IPAddressClaim[]
  readonly addresses: readonly IPAddress[]
  /** The IPAddress of a name in the namespace of the server, also one that cannot be parsed. */
  readonly addressNamed: (name: string) => KubeObject | undefined
  readonly cluster: Cluster | undefined
  readonly knownOf: (about: string) => KnownOfServer
  readonly nowMs: number
  readonly rules: ServerRules
}

/** The options of `floatingServers`, with their defaults. */
export interface ServerRules {
  readonly onExhausted: 'wait' | 'fail'
  readonly releaseWhen: 'detached' | 'instanceGone'
  readonly checkSeconds: number
  readonly callSeconds: number
}

/** How long after a change the cloud may still show the state before, in seconds. */
const SETTLE_SECONDS = 30
/** The maximum age of a look for a change, in seconds. */
const FRESH_SECONDS = 5
/** The interval between looks for changes that only the cloud shows, in seconds. */
export const RECHECK_SECONDS = 60

/** The name of the Cluster of a server. */
export function clusterNameOf(server: OpenStackServer): string | undefined {
  return labelOf(server.metadata.labels, CLUSTER_NAME_LABEL) || undefined
}

/** The id of the instance of a server in the cloud; `undefined` if it has none. */
export function instanceOf({ status }: OpenStackServer): string | undefined {
  return status?.instanceID || undefined
}

/** An address in the text form of the cloud; `undefined` for an invalid text. */
export function canonical(text: string): string | undefined {
  const parsed = Address.safeParse(text)
  return parsed.ok ? Address.format(Address.unmap(parsed.value)) : undefined
}

/** The input of a plan for the claims of a server. */
export function consumerInput({ server, claims, addresses, cluster }: ServerView): ConsumerInput {
  const { floatingIPPoolRef: pool } = server.spec
  const pools = pool === undefined ? [] : [{ ...pool, apiGroup: pool.apiGroup ?? '' }]
  return { owner: server, naming: 'capo', devices: [{ pools }], claims, addresses, cluster }
}

/** The write of the condition of a server, if it changes. */
export function conditionEffects(
  { server, nowMs }: ServerView,
  update: ConditionUpdate | undefined,
): readonly Effect[] {
  if (update === undefined) return []
  // conditions in the older form of Cluster API stay as they are
  const before = (server.status?.conditions ?? []) as readonly Condition[]
  const conditions = setCondition(before, update, new Date(nowMs).toISOString())
  return conditions === before
    ? []
    : [patchStatus(server, { status: { conditions } }, update.message || 'it has its floating IP')]
}

/** The condition of a server that does not get its floating IP, with the reason. */
export function errorCondition(message: string): ConditionUpdate {
  return { type: FLOATING_ADDRESS_CONDITION, status: 'False', reason: FLOATING_IP_ERROR_REASON, message }
}

/** The next step with the cloud. */
export type CloudStep =
  /** Makes this call. */
  | { readonly kind: 'ask'; readonly effects: readonly Effect[] }
  /** Waits this number of seconds. `undefined`: until something changes. */
  | { readonly kind: 'wait'; readonly seconds: number | undefined; readonly failure?: ExternalFailure | undefined }

/**
 * The last look at a server and an address, if it is not older than this; else the call that looks.
 */
export function lookAt(view: ServerView, address: string, maxAgeSeconds: number): CloudStep | Look {
  const { look, lookFailure } = knownOf(view, address)
  if (lookFailure !== undefined) {
    const seconds = retryAfter(lookFailure, view.nowMs)
    if (seconds !== 0) return { kind: 'wait', seconds, failure: failureOf(lookFailure) }
    return ask(view, address, 'describeServer')
  }
  return look !== undefined && ageOf(look, view) < maxAgeSeconds ? look : ask(view, address, 'describeServer')
}

/**
 * A change that the last look makes necessary; the look must be recent. A change that was made
 * already, or that has failed, is not repeated before the cloud was looked at after it. After a
 * success the cloud gets time to show it.
 */
export function change(
  view: ServerView,
  address: string,
  operation: 'attachFloatingIP' | 'detachFloatingIP',
  input: ChangeInput,
): CloudStep {
  const { look, change: made } = knownOf(view, address)
  const last = made?.what === changeOf(operation, input) ? made.last : undefined
  const isFresh = look !== undefined && ageOf(look, view) < FRESH_SECONDS && look.order > (last?.order ?? 0)
  const isSettling = last?.answer.ok === true && (view.nowMs - last.atMs) / 1000 < SETTLE_SECONDS
  if (isSettling) return isFresh ? { kind: 'wait', seconds: FRESH_SECONDS } : ask(view, address, 'describeServer')
  const seconds = last === undefined || last.answer.ok ? 0 : retryAfter(last, view.nowMs)
  if (seconds !== 0) return { kind: 'wait', seconds, failure: failureOf(last!) }
  return isFresh ? ask(view, address, operation, input) : ask(view, address, 'describeServer')
}

function failureOf({ answer }: { readonly answer: { readonly ok: boolean } }): ExternalFailure | undefined {
  return 'failure' in answer ? (answer.failure as ExternalFailure) : undefined
}

function ageOf({ atMs }: Look, { nowMs }: ServerView): number {
  return (nowMs - atMs) / 1000
}

function knownOf(view: ServerView, address: string): KnownOfServer {
  return view.knownOf(aboutOf(view.server, address))
}

/**
 * How long a call whose outcome is unknown may still attach a floating IP, in seconds. 0: there is
 * no such call.
 */
export function attachingFor(view: ServerView, address: string): number {
  return Math.max(0, Math.ceil((knownOf(view, address).attachesUntilMs - view.nowMs) / 1000))
}

/** The subject of the calls for a server and an address: uids and ids are never used again. */
function aboutOf(server: OpenStackServer, address: string): string {
  return `${server.metadata.uid}/${instanceOf(server)}/${address}`
}

function ask(
  { server, rules }: ServerView,
  address: string,
  operation: ServerOperation,
  input?: ChangeInput,
): CloudStep {
  const { identityRef = null } = server.spec
  const access: Json = { namespace: server.metadata.namespace, identityRef }
  const about = aboutOf(server, address)
  const asked: Json = input === undefined ? { access, server: instanceOf(server), address } : { access, ...input }
  const key = input === undefined ? about : `${about}${suffixOf(input)}`
  const call: Effect = {
    kind: 'external',
    call: { operation, key, about: refOf(server), input: asked },
    why: WHY[operation],
    effectSeconds: rules.callSeconds,
  }
  return { kind: 'ask', effects: [guard(server, 'the server has not changed'), call] }
}

const WHY: { readonly [operation in ServerOperation]: string } = {
  describeServer: 'to see the addresses of the instance',
  attachFloatingIP: 'the claim of the server has this address',
  detachFloatingIP: 'an address that is released may be given to another server at once',
}

/** A plan for the next step with the cloud. */
export function planStep(
  view: ServerView,
  step: CloudStep,
  { outcome, effects = [], failed }: StepPlan,
): Plan<FloatingServerOutcome> {
  if (step.kind === 'ask') return { outcome, effects: [...effects, ...step.effects] }
  const { seconds, failure } = step
  const requeue = seconds === undefined ? {} : { requeueAfterSeconds: seconds }
  if (failure === undefined) return { outcome, effects, ...requeue }
  const message = `${failed}: ${failure.message}`
  return {
    outcome: { ...outcome, kind: outcome.kind === 'attaching' ? 'error' : 'holding', message },
    effects: [...effects, ...conditionEffects(view, errorCondition(message))],
    ...requeue,
  }
}

interface StepPlan {
  readonly outcome: FloatingServerOutcome
  readonly effects?: readonly Effect[]
  /** The message for a failed call. */
  readonly failed: string
}
