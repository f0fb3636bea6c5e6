import * as Address from '../../../cidr/nouns/address.js'
import type * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import type { InterfaceAddress } from '../../../crd/multinet/index.js'
import { mac as macSchema } from '../../../crd/multinet/read-json.js'
import { check } from '../../../errors/check.js'
import { refuse } from '../../../errors/refuse.js'
import type { NetworkDefinition } from '../network/definition.js'
import { type ClaimPlan, type ClaimReason, flawOf, macConflict, type PodRefusalReason } from './claim-plan.js'
import { macFor } from './mac-address.js'
import { familiesOf, networkSpace, withLength } from './space.js'

/** An interface of a Pod in a network, as it is read. */
export interface PodSituation {
  /** The name of the Pod. */
  readonly pod: string
  /** The definition that decides on the network. */
  readonly network: NetworkDefinition
  /** What the interface asks for. Empty: any addresses. */
  readonly requests: readonly InterfaceAddress[]
  /** The MAC address that it asks for. Left out: any. */
  readonly requestedMAC?: string | undefined
  /** Another Pod that has the MAC address that it asks for. Left out: none. */
  readonly macHolder?: string | undefined
  /** What it has by the annotation of the Pod. Empty: nothing yet. */
  readonly addresses: readonly InterfaceAddress[]
  /** The MAC address that it has. */
  readonly mac?: string | undefined
  /**
   * What the claim that it names has. A network that does not honour claims leaves it out of
   * account. Left out: the interface names none.
   */
  readonly claim?: ClaimPlan | undefined
  /** Whether another holder than this Pod has the address. */
  readonly isTaken: (address: Address.Address) => boolean
  /** Free addresses, one of each family of the network; `undefined`: a family has none. */
  readonly next: () => readonly Prefix.Prefix[] | undefined
  /**
   * What becomes of addresses that are asked for without a claim. `refuse`: the Pod gets none.
   * `serve`: it gets these, in a primary network of layer2; in others as with `refuse`. `prefer`:
   * it gets these, or free ones if it cannot have them. Default `refuse`. A network without
   * addresses of its own takes them as they are.
   */
  readonly staticRequests?: 'refuse' | 'serve' | 'prefer' | undefined
}

/**
 * Why a Pod gets nothing in a network: a reason of its claim, or one of these.
 *
 * - `StaticRequest`: it asks for addresses, and the network does not take requests
 * - `InvalidMAC`: the MAC address that it asks for cannot be read
 */
export type PodPlanReason =
  | PodRefusalReason
  | Exclude<ClaimReason, 'SuccessfulAllocation'>
  | 'StaticRequest'
  | 'InvalidMAC'

/** What an interface of a Pod gets. */
export type PodPlan =
  | {
      readonly kind: 'given'
      /** Each with the length of its subnet. Empty: the network has no addresses. */
      readonly addresses: readonly Prefix.Prefix[]
      /** Left out: any. It has no addresses, and asks for none. */
      readonly mac?: string | undefined
      /** Whether it is new: the Pod has to be written. */
      readonly isNew: boolean
      /**
       * What holds the addresses. Those of a `pod` are free when it has ended; those of a `claim`
       * stay. `nothing`: the network does not allocate them.
       */
      readonly holder: 'claim' | 'pod' | 'nothing'
    }
  | { readonly kind: 'refused'; readonly reason: PodPlanReason; readonly message: string }

type Refused = Extract<PodPlan, { kind: 'refused' }>
type Given = { readonly addresses: readonly Prefix.Prefix[]; readonly holder: 'claim' | 'pod' | 'nothing' }

/**
 * Decides what an interface of a Pod gets: what it has already, else the addresses of its claim,
 * else those that it asks for, else free ones, one of each family or none. Nothing is taken before
 * the decision, so a refusal gives nothing back. A MAC address that is not asked for is made from
 * the first IPv4 address, or from the first address, as OVN-Kubernetes does. O(addresses + Pods of
 * the claim).
 *
 * @throws IpamError `INVALID_ARGUMENT`, also for the plan of a claim that is not about this Pod
 * @example
 * import { Prefix } from 'ipam-kit/cidr'
 * import { unwrap } from 'ipam-kit/errors'
 * const config = JSON.stringify({
 *   name: 'lab', type: 'ovn-k8s-cni-overlay', topology: 'localnet', netAttachDefName: 'a/blue', subnets: '10.0.0.0/29',
 * })
 * const network = unwrap(readNetwork({ metadata: { name: 'blue', namespace: 'a' }, spec: { config } }))
 * const next = () => [Prefix.parse('10.0.0.1/29')]
 * const plan = podPlan({ pod: 'p', network, requests: [], addresses: [], isTaken: () => false, next })
 * plan.kind === 'given' && plan.mac // '0a:58:0a:00:00:01'
 */
export function podPlan(situation: PodSituation): PodPlan {
  check<unknown>('podPlan', 'situation', situation, SITUATION)
  const { requestedMAC, addresses, mac } = situation
  if (requestedMAC !== undefined && !macSchema.safeParse(requestedMAC).success) {
    return refused('InvalidMAC', `${JSON.stringify(requestedMAC.slice(0, 100))} is not a MAC address`)
  }
  const { macHolder, claim } = situation
  if (macHolder !== undefined && claim === undefined) return refused('MACAddressConflict', macConflict(macHolder))
  const given = givenTo(situation)
  if ('kind' in given) return given
  const first = given.addresses.find((one) => one.address.family === 4) ?? given.addresses[0]
  const own = mac ?? requestedMAC ?? (first && macFor(first.address))
  const isNew = addresses.length !== given.addresses.length || own !== mac
  return { kind: 'given', ...given, ...(own !== undefined && { mac: own }), isNew }
}

const ADDRESSES = ['list', ['open', { address: 'object', prefixLength: 'number?' }]] as const
const SITUATION = [
  'open',
  {
    pod: 'text',
    network: ['open', { name: 'text', claims: 'text', subnets: 'list', addressing: 'text' }],
    requests: ADDRESSES,
    requestedMAC: 'text?',
    macHolder: 'text?',
    addresses: ADDRESSES,
    mac: 'text?',
    claim: [
      'open?',
      { addresses: 'list', served: ['list', 'text'], refused: ['list', 'object'], condition: 'object?' },
    ],
    isTaken: 'function',
    next: 'function',
    staticRequests: ['one?', { refuse: 1, serve: 1, prefer: 1 }],
  },
] as const

function givenTo(situation: PodSituation): Given | Refused {
  const { network, claim, addresses, requests, staticRequests = 'refuse' } = situation
  const lengthened = (all: readonly InterfaceAddress[]) => all.map((one) => withLength(one, network))
  if (claim !== undefined && network.claims === 'honoured') return ofClaim(claim, situation.pod)
  if (!givesAddresses(network)) {
    return { addresses: lengthened(addresses.length > 0 ? addresses : requests), holder: 'nothing' }
  }
  if (addresses.length > 0) {
    const taken = takenOf(addresses, situation)
    return taken ?? { addresses: lengthened(addresses), holder: 'pod' }
  }
  if (requests.length === 0) return free(situation)
  if (staticRequests === 'prefer') {
    return problemOf(requests, situation) === undefined
      ? { addresses: lengthened(requests), holder: 'pod' }
      : free(situation)
  }
  if (staticRequests === 'refuse' || network.topology !== 'layer2' || network.role !== 'primary') {
    return refused('StaticRequest', `the network ${network.name} takes no requests for addresses`)
  }
  return problemOf(requests, situation) ?? { addresses: lengthened(requests), holder: 'pod' }
}

/** Also the default network, whose subnets are those of the Nodes. */
function givesAddresses({ addressing, claims }: NetworkDefinition): boolean {
  return addressing === 'subnets' || claims === 'defaultNetwork'
}

function ofClaim({ addresses, served, refused: others, condition }: ClaimPlan, pod: string): Given | Refused {
  if (served.includes(pod)) return { addresses, holder: 'claim' }
  const refusal = others.find((one) => one.pod === pod)
  if (refusal !== undefined) return refused(refusal.reason, refusal.message)
  if (condition === undefined || condition.reason === 'SuccessfulAllocation') {
    return refuse('podPlan', 'claim', `a plan about the Pod ${pod}`, 'a plan about others')
  }
  return refused(condition.reason, condition.message)
}

function free({ next, network }: PodSituation): Given | Refused {
  const addresses = next()
  if (addresses !== undefined) return { addresses, holder: 'pod' }
  return refused('SubnetExhausted', `the network ${network.name} has no free address of each family`)
}

/** Why a Pod cannot have the addresses that it asks for. */
function problemOf(asked: readonly InterfaceAddress[], situation: PodSituation): Refused | undefined {
  const { network } = situation
  const families = familiesOf(network)
  const flaw = flawOf(asked)
  if (flaw !== undefined) return refused('InternalError', flaw)
  if (network.claims !== 'defaultNetwork') {
    const isWhole =
      asked.length === families.length &&
      families.every((family) => asked.some(({ address }) => address.family === family))
    if (!isWhole) {
      return refused('FamilyMismatch', `the network ${network.name} gives one address of each of its families`)
    }
    const space = networkSpace(network).addresses
    const outside = asked.find(({ address }) => !RangeSet.contains(space, address))
    if (outside !== undefined) {
      return refused('OutsideNetwork', `the network ${network.name} does not give ${Address.format(outside.address)}`)
    }
  }
  return takenOf(asked, situation)
}

function takenOf(asked: readonly InterfaceAddress[], { isTaken }: PodSituation): Refused | undefined {
  const taken = asked.find(({ address }) => isTaken(address))
  return taken && refused('IPAddressConflict', `another holder has ${Address.format(taken.address)}`)
}

function refused(reason: PodPlanReason, message: string): Refused {
  return { kind: 'refused', reason, message }
}
