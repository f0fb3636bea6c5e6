import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { hasFinalizer } from '../../crd/meta/object.js'
import { FLOATING_IP_FINALIZER } from '../../crd/openstack/names.js'
import { type Effect, guard, type Plan, proofOfAbsence, removeFinalizer } from '../../plan/index.js'
import { releasePlan } from '../consumer/plan.js'
import type { FloatingServerOutcome } from './outcome.js'
import { attachedTo } from './port-choice.js'
import {
  attachingFor,
  canonical,
  change,
  consumerInput,
  instanceOf,
  lookAt,
  planStep,
  type ServerView,
} from './server-view.js'

/** How often the cloud is asked whether an instance is deleted, in seconds. */
const GONE_CHECK_SECONDS = 10
/** The maximum age of a look that shows that an address is not attached, in seconds. */
const RELEASE_LOOK_SECONDS = 5

/**
 * Releases the claims of a server, each when its address is detached: first it is detached from the
 * instance, then the claim loses its finalizer, then the server. Claims of other owners are
 * ignored.
 *
 * @param deletes for a server that is not being deleted: no other controller would delete its
 * claims
 */
export function planRelease(view: ServerView, deletes: boolean): Plan<FloatingServerOutcome> {
  const { server } = view
  const release = releasePlan(consumerInput(view), { deleteExplicitly: deletes })
  for (const address of addressesToDetach(view, release.effects)) {
    const plan = planDetach(view, address)
    if (plan !== undefined) return plan
  }
  const why = 'its floating IP is released'
  const isHeld = hasFinalizer(server, FLOATING_IP_FINALIZER)
  const finalizer = isHeld ? [...noClaim(view), removeFinalizer(server, FLOATING_IP_FINALIZER, why)] : []
  const effects = [...release.effects, ...finalizer]
  // a server that is being deleted stays so; another one may have got a pool again
  if (deletes && effects.length > 0) effects.unshift(guard(server, 'it needs no floating IP'))
  return { outcome: { kind: 'released', message: why }, effects }
}

/** Another process may have just created the claim: its finalizer would never be removed. */
function noClaim({ claimRef, claims }: ServerView): readonly Effect[] {
  const isKnown = claims.some(({ metadata }) => metadata.name === claimRef.name)
  return isKnown ? [] : proofOfAbsence({ ref: claimRef }, 'no claim of a server that does not exist')
}

/**
 * The addresses of the claims that are released, and of claims of the server that no finalizer
 * holds.
 */
function addressesToDetach(view: ServerView, effects: readonly Effect[]): readonly string[] {
  const { server, claims, addresses } = view
  const released = new Set(effects.flatMap((effect) => ('ref' in effect ? [effect.ref.name] : [])))
  const isOwn = ({ metadata }: IPAddressClaim) =>
    released.has(metadata.name) || metadata.ownerReferences?.some(({ uid }) => uid === server.metadata.uid) === true
  return claims.filter(isOwn).flatMap((claim) => {
    const object = addresses.find(({ metadata }) => metadata.name === claim.status?.addressRef?.name)
    // an IPAddress for another claim is not detached, and an invalid address was never attached
    const address = object?.spec.claimRef.name === claim.metadata.name ? canonical(object.spec.address) : undefined
    return address === undefined ? [] : [address]
  })
}

/** The plan before an address can be released; `undefined`: none is necessary. */
function planDetach(view: ServerView, address: string): Plan<FloatingServerOutcome> | undefined {
  if (instanceOf(view.server) === undefined) return undefined
  const look = lookAt(view, address, RELEASE_LOOK_SECONDS)
  if ('kind' in look) {
    const outcome: FloatingServerOutcome = { kind: 'holding', message: `the cloud is asked for ${address}`, address }
    return planStep(view, look, { outcome, failed: `cannot see whether ${address} is still attached` })
  }
  const attached = attachedTo(look.network)
  if (attached !== undefined) {
    const { id, port } = attached
    const outcome: FloatingServerOutcome = {
      kind: 'detaching',
      message: `${address} is detached from port ${port} now`,
      address,
    }
    return planStep(view, change(view, address, 'detachFloatingIP', { id, port }), {
      outcome,
      failed: `cannot detach ${address}`,
    })
  }
  const seconds = attachingFor(view, address)
  if (seconds > 0) {
    const message = `a call that was not answered may still attach ${address}`
    return { outcome: { kind: 'holding', message, address }, effects: [], requeueAfterSeconds: seconds }
  }
  const { ports } = look.network
  if (view.rules.releaseWhen === 'detached' || ports.length === 0) return undefined
  const message = `${address} is released when the instance is gone: it has ${ports.length} ports`
  return { outcome: { kind: 'holding', message, address }, effects: [], requeueAfterSeconds: GONE_CHECK_SECONDS }
}
