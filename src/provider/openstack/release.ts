import { IPAddress } from '../../crd/cluster-api/ip-address.js'
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
  const claims = releasedClaims(view, release.effects)
  for (const address of addressesToDetach(view, claims)) {
    const plan = planDetach(view, address)
    if (plan !== undefined) return plan
  }
  const why = 'its floating IP is released'
  const isHeld = hasFinalizer(server, FLOATING_IP_FINALIZER)
  const finalizer = isHeld ? [...noClaim(view), removeFinalizer(server, FLOATING_IP_FINALIZER, why)] : []
  const effects = [...release.effects, ...finalizer]
  if (effects.length > 0) effects.unshift(...proofOfAddresses(view, claims))
  // a server that is being deleted stays so; another one may have got a pool again
  if (deletes && effects.length > 0) effects.unshift(guard(server, 'it needs no floating IP'))
  return { outcome: { kind: 'released', message: why }, effects }
}

/** Another process may have just created the claim: its finalizer would never be removed. */
function noClaim({ claimRef, claims }: ServerView): readonly Effect[] {
  const isKnown = claims.some(({ metadata }) => metadata.name === claimRef.name)
  return isKnown ? [] : proofOfAbsence({ ref: claimRef }, 'no claim of a server that does not exist')
}

/** The claims that are released, and claims of the server that no finalizer holds. */
function releasedClaims({ server, claims }: ServerView, effects: readonly Effect[]): readonly IPAddressClaim[] {
  const released = new Set(effects.flatMap((effect) => ('ref' in effect ? [effect.ref.name] : [])))
  const { uid } = server.metadata
  return claims.filter(
    ({ metadata }) => released.has(metadata.name) || metadata.ownerReferences?.some((owner) => owner.uid === uid),
  )
}

function addressesToDetach({ addresses }: ServerView, claims: readonly IPAddressClaim[]): readonly string[] {
  return claims.flatMap((claim) => {
    const object = addresses.find(({ metadata }) => metadata.name === claim.status?.addressRef?.name)
    // an IPAddress for another claim is not detached, and an invalid address was never attached
    const address = object?.spec.claimRef.name === claim.metadata.name ? canonical(object.spec.address) : undefined
    return address === undefined ? [] : [address]
  })
}

/**
 * Effects that prove that the claims have the addresses that were looked for in the cloud. The
 * watch of IPAddress objects may be later than that of claims: then the plan knows no IPAddress, or
 * that of an earlier claim of the name, and the instance still has the address of this claim.
 */
function proofOfAddresses(view: ServerView, claims: readonly IPAddressClaim[]): readonly Effect[] {
  // nothing is attached to a server without an instance
  if (instanceOf(view.server) === undefined) return []
  const why = 'its address is not attached'
  return claims.flatMap(({ metadata: { namespace }, status }): readonly Effect[] => {
    const name = status?.addressRef?.name
    if (name === undefined) return []
    const known = view.addressNamed(name)
    const { apiVersion, kind } = IPAddress.info
    const ref = { apiVersion, kind, namespace, name }
    return known === undefined ? proofOfAbsence({ ref }, why) : [guard(known, why)]
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
