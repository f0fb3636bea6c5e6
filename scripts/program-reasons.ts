/** A reason of an Event or of a condition that a system writes. */
export interface ReasonRow {
  /** Kinds of the objects that it is about. */
  readonly about: string
  /** `Event`, or the type of the condition. With several, a comma stands between. */
  readonly on: string
  readonly reason: string
  readonly meaning: string
  /** What an operator does. Left out: nothing. */
  readonly action?: string
}

/** What one system writes, and the folders of src/provider that write it. */
export interface ReasonTable {
  readonly title: string
  readonly folders: readonly string[]
  readonly rows: readonly ReasonRow[]
  /** Reasons of results of functions: no object shows them. */
  readonly internal: readonly string[]
}

const row = (about: string, on: string, reason: string, meaning: string, action?: string): ReasonRow => ({
  ...{ about, on, reason, meaning },
  ...(action === undefined ? {} : { action }),
})

const AGAIN = 'Read the message. It is tried again after 5 ms and twice as long each time, up to 1,000 s'
const REFUSED = 'the API server refuses a write to the object; the message has its words'

const CLAIMS: readonly ReasonRow[] = [
  row('claim', 'Ready', 'AddressAllocated', 'True: `status.addressRef` names its IPAddress'),
  row(
    ...(['claim', 'Ready, Event', 'PoolNotReady'] as const),
    'the pool is missing, invalid or being deleted, or the external system cannot be used',
    'Create or correct the pool. The claim continues by itself',
  ),
  row(
    ...(['claim', 'Ready, Event', 'PoolExhausted'] as const),
    'each address of the pool is in use, or it has `maxIPs` addresses',
    'Enlarge the pool, or delete claims. The oldest claim is served first',
  ),
  row(
    ...(['claim', 'Ready, Event', 'AllocationFailed'] as const),
    'an IPAddress with the name of the claim prevents it, another claim has the address, a requested address ' +
      'cannot be given, or a write or an external call failed',
    'Read the message. It is tried again by itself',
  ),
  row('claim', 'AddressUnique', 'Unique', 'True: the other IPAddress with its address is deleted'),
  row(
    ...(['claim', 'AddressUnique, Event', 'DuplicateAddress'] as const),
    'another IPAddress has the address of this claim, which is Bound',
    'If it stays: replace the claim whose machine does not use the address',
  ),
  row('claim', 'Event', 'ReleaseFailed', 'the API server refuses a write that the deletion needs', AGAIN),
  row('any object', 'Event', 'WriteRefused', REFUSED, AGAIN),
  row(
    ...(['pool', 'Event', 'InvalidPool'] as const),
    'an entry of the spec cannot be used. The first 20 problems are an Event each, once while they last',
    'Correct the pool',
  ),
]

const WORKLOADS = 'VirtualMachine, Pod'

/** The reasons of each system. test/docs/programs-page.test.ts compares them with the code. */
export const REASONS: readonly ReasonTable[] = [
  {
    title: 'Claims and in-cluster pools',
    folders: ['claims', 'in-cluster', 'in-cluster-blocks'],
    internal: ['ClusterNotFound', 'ExternalCall', 'Reservation', 'PoolUnavailable'],
    rows: [
      ...CLAIMS,
      row('pool', 'Ready', 'Ready', 'True, with `poolConditions`: the next claim can be served'),
      row(
        ...(['pool', 'Ready', 'PoolExhausted'] as const),
        'with `poolConditions`: each address is in use or kept back',
        'Enlarge the pool',
      ),
      row(
        ...(['pool', 'Ready', 'PoolNotReady'] as const),
        'with `poolConditions`: the spec is invalid, or the pool is being deleted',
        'Read the message, and correct the pool',
      ),
      row('pool', 'AddressesUnique', 'Unique', 'True, with `poolConditions`: each address has one IPAddress'),
      row(
        ...(['pool', 'AddressesUnique, Event', 'DuplicateAddress'] as const),
        'several IPAddress objects have one address, or prefixes that overlap; the message names them',
        'Keep the one whose machine uses the address, and replace the others',
      ),
      row(
        ...(['pool', 'AddressesUnique, Event', 'OverlappingPools'] as const),
        'with `overlaps`: another pool has addresses of this one',
        'Exclude the addresses in one of them',
      ),
    ],
  },
  {
    title: 'Blocks',
    folders: ['blocks'],
    internal: ['PoolExhausted', 'AllocationFailed', 'PoolNotReady'],
    rows: [
      row('IPPool, IPDomain', 'Ready', 'Ready', 'True: it serves requests'),
      row(
        ...(['IPPool', 'Ready, Event', 'InvalidPool'] as const),
        'the spec cannot be used, or a part of it. The first 20 problems are an Event each',
        'Correct the pool',
      ),
      row('IPDomain', 'Ready', 'InvalidGrid', 'the grid is invalid, or a block does not lie on it', 'Read the message'),
      row('IPPool', 'Exhausted', 'Room', 'False: the pool has free addresses'),
      row('IPPool', 'Exhausted', 'PoolExhausted', 'True: no address is free', 'Enlarge the pool'),
      row('IPPool', 'Overlaps', 'Disjoint', 'False: no other pool of the domain has its addresses'),
      row('IPPool', 'Overlaps', 'OverlappingPools', 'True: other pools of the domain have addresses of this one'),
    ],
  },
  {
    title: 'Floating IPs',
    folders: ['external', 'openstack'],
    internal: [
      ...['NotFound', 'OtherNetwork', 'Attached', 'OtherPool', 'AttachedElsewhere', 'NoPorts', 'NoRouter'],
      ...['NotBound', 'MalformedAddress', 'MalformedSubnet', 'NoSubnet', 'AmbiguousSubnet', 'NotAHost'],
      ...['PrefixMismatch', 'DuplicateAddress', 'AllocationFailed', 'PoolNotReady', 'PoolExhausted'],
    ],
    rows: [
      row(
        ...(['claim', 'Ready, Event', 'BackendExhausted'] as const),
        'the quota of the project or the network is used up',
        'Raise the quota. It is tried again by itself',
      ),
      row(
        ...(['claim', 'Ready, Event', 'BackendDenied'] as const),
        'the cloud refuses the credentials, or what they may do',
        'Correct the Secret or the role',
      ),
      row('pool', 'OpenStackAuthenticationSucceeded', 'Ready', 'True: the cloud accepts the credentials'),
      row(
        ...(['pool', 'OpenStackAuthenticationSucceeded', 'OpenStackAuthenticationFailed'] as const),
        'no client for the cloud can be made, or the cloud refuses the credentials',
        'Correct the Secret',
      ),
      row('pool', 'OpenstackFloatingIPPoolReadyCondition', 'Ready', 'True: the pool serves claims'),
      row(
        ...(['pool', 'OpenstackFloatingIPPoolReadyCondition', 'MaxIPsReached'] as const),
        'claims wait: the pool has `maxIPs` addresses, and not enough of them are free',
        'Raise `maxIPs`',
      ),
      row(
        ...(['pool', 'OpenstackFloatingIPPoolReadyCondition', 'UnableToFindNetwork'] as const),
        'the network does not exist, or several networks match',
        'Correct the network of the pool',
      ),
      row(
        ...(['pool', 'OpenstackFloatingIPPoolReadyCondition', 'OpenStackError'] as const),
        'the pool is invalid or is being deleted, or a call failed',
        'Read the message',
      ),
      row('OpenStackServer', 'FloatingAddressFromPoolReady', 'Ready', 'True: the instance has the address'),
      row(
        ...(['OpenStackServer', 'FloatingAddressFromPoolReady', 'WaitingForIPAddress'] as const),
        'the claim has no address yet. The message has the reason of the claim',
        'Look at the claim',
      ),
      row(
        ...(['OpenStackServer', 'FloatingAddressFromPoolReady', 'WaitingForInstance'] as const),
        'the claim has its address, and the server has no `status.instanceID` yet',
      ),
      row(
        ...(['OpenStackServer', 'FloatingAddressFromPoolReady, Event', 'FloatingIPError'] as const),
        'the claim has another owner, the floating IP is attached elsewhere, no port has a way to its network, or a ' +
          'call failed',
        'Read the message',
      ),
      row(
        ...(['OpenStackServer', 'FloatingAddressFromPoolReady, Event', 'FloatingIPPoolExhausted'] as const),
        'the pool had no address, and the controller runs with `--on-exhausted fail`. This is final',
        'Create the server again',
      ),
      row('OpenStackServer', 'Event (Normal)', 'WaitingForIPAddressClaim', 'its claim is created'),
    ],
  },
  {
    title: 'Subnets for Nodes',
    folders: ['node-ipam'],
    internal: [],
    rows: [
      row(
        ...(['Node', 'Event', 'CIDRNotAvailable'] as const),
        'no range has free subnets for it; the message names the ranges that were tried, with their sizes',
        'Add a ClusterCIDR, or delete Nodes',
      ),
      row('Node', 'Event', 'CIDRAssignmentFailed', 'the API server refuses the patch', AGAIN),
      row('Node', 'Event', 'CIDRNotOwned', 'a subnet of it is in no range. The subnet stays in use'),
      row(
        ...(['Node', 'Event', 'CIDRConflict'] as const),
        'a subnet of it overlaps one of another Node or a range of Services, or its fields contradict each other',
        'Delete one of the two Nodes, and let it join again',
      ),
      row(
        ...(['ServiceCIDR', 'Event', 'InvalidServiceCIDR'] as const),
        'with `--watch-service-cidrs`: a range of it cannot be read, so Nodes may get a part of it',
        'Correct the object',
      ),
      row(
        ...(['ClusterCIDR', 'Event', 'InvalidClusterCIDR'] as const),
        'a range, a size or each term of the selector cannot be used; or one term of several selects no Node',
        'Delete it, and create a correct one',
      ),
      row(
        ...(['ClusterCIDR', 'Event', 'WriteRefused'] as const),
        'the API server refuses a write to it, such as its finalizer: it gives no subnets until it has one',
        AGAIN,
      ),
    ],
  },
  {
    title: 'Addresses of Services',
    folders: ['service-ip'],
    internal: [],
    rows: [
      row('ServiceCIDR', 'Ready', 'InService', 'True: it gives addresses'),
      row('ServiceCIDR', 'Ready', 'Terminating', 'it is being deleted, and addresses keep it', 'Add another range'),
      row(
        ...(['ServiceCIDR', 'Ready, Event', 'InvalidRange'] as const),
        'a CIDR of it cannot be used, and is skipped',
        'Delete it, and create a correct one',
      ),
      row(
        ...(['ServiceCIDR', 'Event', 'ServiceCIDRNotReady'] as const),
        'it is not ready for longer than `reportSeconds`: addresses keep it, or another controller has set Ready',
        'Read the message',
      ),
      row(
        ...(['Service', 'Event', 'ClusterIPNotAvailable'] as const),
        'it gets no address, or not its second one: no range of the family, or each address is in use',
        'Add a ServiceCIDR',
      ),
      row('Service', 'Event', 'ClusterIPNotAllocated', 'it has an address without IPAddress: created'),
      row(
        ...(['Service', 'Event', 'ClusterIPAlreadyAllocated'] as const),
        'two Services have one address',
        'Create one of them again',
      ),
      row('Service', 'Event', 'ClusterIPOutOfRange', 'its address is in no range', 'Add a range, or create it again'),
      row('Service', 'Event', 'ClusterIPNotValid', 'a cluster IP is not an address', 'Create it again'),
      row(
        ...(['IPAddress', 'Event', 'IPAddressNotAllocated'] as const),
        'its Service does not exist, or does not use it: deleted',
      ),
      row(
        ...(['IPAddress', 'Event', 'IPAddressNotCanonical'] as const),
        'its name is not in the canonical form; deleted when the IPAddress with the right name exists',
      ),
      row('IPAddress', 'Event', 'IPAddressWrongReference', 'its parent is not the Service that uses it', 'Delete it'),
      row('IPAddress', 'Event', 'IPAddressOutOfRange', 'it is in use, and in no range', 'Add a range'),
      row('IPAddress', 'Event', 'IPAddressNotValid', 'its name is not an address, or it cannot be read', 'Delete it'),
      row('IPAddress', 'Event', 'ServiceNotReadable', 'its Service cannot be read. Nothing is changed', 'Correct it'),
      row('any object', 'Event', 'WriteRefused', `${REFUSED}. Once for each cause`, 'Read the message'),
    ],
  },
  {
    title: 'Networks of whereabouts',
    folders: ['whereabouts', 'whereabouts-blocks'],
    internal: ['MalformedRow', 'DeletionByTaintManager'],
    rows: [
      row('IPPool', 'Event (Normal)', 'IPAddressGarbageCollected', 'the sweep has freed the rows of a Pod'),
      row('definition', 'Event', 'InvalidNodeSlices', 'it cannot be read, or has no valid slices', 'Correct it'),
      row(
        ...(['definition', 'Event', 'NodeSliceMismatch'] as const),
        'an older definition of its network has another range or slice size, and that one is served',
        'Make them equal',
      ),
      row('definition', 'Event', 'NoFreeSlice', 'a Node gets no slice: each one is in use', 'Enlarge the range'),
      row(
        ...(['definition', 'Event', 'SliceChangeRefused'] as const),
        'the range or the slice size was changed, and slices that would end have rows. The old division stays',
        'Move the Pods of these rows, or set the change back',
      ),
      row(
        'definition',
        'Event',
        'SliceConflict',
        'a slice of one Node has rows of another Node',
        'Restart the Pods of these rows',
      ),
      row('definition', 'Event', 'UnreadableSlicePool', 'the NodeSlicePool cannot be read', 'Correct or delete it'),
      row('definition', 'Event', 'InvalidNetwork', 'it cannot be read; no pool is retired meanwhile', 'Correct it'),
      row(
        ...(['definition', 'Event', 'SharedPool'] as const),
        'definitions of one pool have other excludes or gateways: the pool gives what all of them give',
        'Make them equal',
      ),
      row(
        ...(['definition', 'Event', 'OverlappingDomains'] as const),
        'ranges of one network overlap in two domains: an address may be given twice',
        'Use one `network_name`',
      ),
      row(
        ...(['definition', 'Event', 'UnmanagedPool'] as const),
        'a pool of its name was made by hand, and differs. It is not changed',
        'Change or delete the pool',
      ),
      row('definition', 'Event', 'InvalidPool', 'its pool would be invalid', 'Correct the definition'),
      row('definition', 'Event', 'UnreadablePool', 'its pool cannot be read', 'Correct or delete the pool'),
      row('definition', 'Event', 'WriteRefused', REFUSED, AGAIN),
    ],
  },
  {
    title: 'Persistent addresses',
    folders: ['persistent-ip', 'persistent-ip-blocks'],
    internal: [
      ...['NoAddresses', 'InvalidClaim', 'DuplicateMAC', 'DuplicateNetwork', 'NoGateway', 'SeveralGateways'],
      'PoolExhausted',
    ],
    rows: [
      row('IPAMClaim', 'IPsAllocated', 'SuccessfulAllocation', 'True: the claim has its addresses'),
      row('IPAMClaim, Pod', 'IPsAllocated, Event', 'SubnetExhausted', 'a family of the network has no free address'),
      row(
        ...(['IPAMClaim, Pod', 'IPsAllocated, Event', 'IPAddressConflict'] as const),
        'another holder has an address of the claim, or one that is asked for',
        'Delete the other holder',
      ),
      row(
        ...(['IPAMClaim, Pod', 'IPsAllocated, Event', 'MACAddressConflict'] as const),
        'another Pod has the MAC address',
        'Delete the other Pod',
      ),
      row(
        'IPAMClaim, Pod',
        'IPsAllocated, Event',
        'InternalError',
        'a text of the claim is no address, or it has it twice',
      ),
      row(
        ...(['IPAMClaim, Pod', 'IPsAllocated, Event', 'OutsideNetwork'] as const),
        'the network does not give an address of the claim, or one that is asked for',
      ),
      row(
        ...(['IPAMClaim, Pod', 'IPsAllocated, Event', 'FamilyMismatch'] as const),
        'the addresses do not fit the families of the network',
      ),
      row('IPAMClaim', 'Event', 'StatusEdited', 'another client has changed its addresses: they are set back'),
      row(
        ...(['IPAMClaim, Pod, VirtualMachine', 'Event', 'NetworkMismatch'] as const),
        'the claim is of another network than the interface, or `spec.network` of a served claim was changed',
        'Set `spec.network` back',
      ),
      row(
        ...(['Pod', 'Event', 'AddressesDiffer'] as const),
        'the Pod has other addresses than the claim. They are never overwritten',
        'Restart the machine',
      ),
      row('Pod', 'Event', 'SharedByInterfaces', 'two interfaces of the Pod name the claim'),
      row('Pod', 'Event', 'NotOfClaim', 'the Pod asks for an address that the claim does not have'),
      row('Pod', 'Event', 'NotOfOwner', 'the claim that the Pod names has other owners than the Pod'),
      row('Pod', 'Event', 'NotSupported', 'no claim holds addresses of the network'),
      row('Pod', 'Event', 'NotStretched', 'the machine still runs in another cluster, which has the address'),
      row('Pod', 'Event', 'StaticRequest', 'it asks for addresses, and the network does not take requests'),
      row('Pod', 'Event', 'InvalidMAC', 'the MAC address that it asks for cannot be read'),
      row(
        ...([WORKLOADS, 'Event', 'NetworkNotReady'] as const),
        'the network does not exist, cannot be read, or does not honour claims',
        'Create or correct the definition',
      ),
      row(WORKLOADS, 'Event', 'ClaimTerminating', 'the claim is being deleted, and the Pod has no address of it yet'),
      row(WORKLOADS, 'Event', 'OwnerMismatch', 'the claim has another owner, none or several', 'Delete the claim'),
      row(WORKLOADS, 'Event', 'NameConflict', 'another network of the workload has the name of the claim'),
      row(WORKLOADS, 'Event', 'InvalidName', 'an API server refuses the name of the claim, or its label'),
      row('Pod', 'Event', 'InvalidOwner', 'the annotation of the Pod cannot be read, or its kind is not allowed'),
      row('Pod', 'Event', 'OwnerNotFound', 'an owner that the Pod names does not exist'),
      row('Pod', 'Event', 'OwnerTerminating', 'an owner that the Pod names is being deleted'),
      row(
        ...(['Pod', 'Event', 'MutationMissed'] as const),
        'the webhook has not seen the Pod: its addresses do not stay',
        'Restart the machine',
      ),
      row(
        'IPAMClaim',
        'MutationMissed',
        'PodWithoutClaim',
        'True: a Pod of the machine does not name the claim',
        'Restart the machine',
      ),
      row('IPAMClaim', 'MutationMissed', 'ClaimNamed', 'False: each Pod names the claim'),
      row(
        'IPAMClaim, Pod',
        'Event',
        'UnreadableObject',
        'the object cannot be read; the message says why',
        'Correct it',
      ),
    ],
  },
  {
    title: 'The network view',
    folders: ['network-view'],
    internal: ['UnreadableObject', 'MalformedCIDR', 'HostBits', 'TooManyCIDRs'],
    rows: [
      row('ClusterNetwork', 'Ready', 'Published', 'True: the status lists all ranges'),
      row('ClusterNetwork', 'Ready', 'TooManyRanges', 'ranges are left out of the status', 'Use fewer ranges'),
      row('ClusterNetwork', 'Consistent', 'Consistent', 'True: no conflict, orphan or unreadable CIDR'),
      row('ClusterNetwork', 'Consistent', 'CIDRConflict', 'two parties have addresses in common', 'Read the message'),
      row('ClusterNetwork', 'Consistent', 'CIDRNotOwned', 'a subnet of a Node is in no range'),
      row('ClusterNetwork', 'Consistent', 'UnreadableCIDR', 'a CIDR or an object cannot be read', 'Correct it'),
      row(
        ...(['ClusterNetwork', 'Event', 'ClusterNetworkMissing'] as const),
        'the ClusterNetwork does not exist, so nothing is published',
        'Create it',
      ),
    ],
  },
  {
    title: 'Garbage collection',
    folders: ['gc'],
    internal: [],
    rows: [
      row(
        ...(['dependent', 'Event', 'OwnerRefInvalidNamespace'] as const),
        'its owner is in another namespace',
        'Correct the reference',
      ),
    ],
  },
]
