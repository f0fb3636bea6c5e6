/** A network of a {@link FakeCloud}. */
export interface FakeNetwork {
  readonly id: string
  readonly name: string
  /** Its subnets, in CIDR notation. */
  readonly cidrs: readonly string[]
  /** Whether floating IPs can be created in it. */
  readonly isExternal: boolean
  readonly description: string
  readonly project: string
  readonly tags: readonly string[]
}

/** A floating IP of a {@link FakeCloud}. Each change makes a new value. */
export interface FakeFloatingIP {
  readonly id: string
  readonly address: string
  /** The id of its network. */
  readonly network: string
  readonly project: string
  /** Has the marker, if it has one. */
  readonly description: string
  readonly tags: readonly string[]
  /** The id of the port that it is attached to; empty: none. */
  readonly port: string
  /** One more with each change. */
  readonly revision: number
  readonly createdAtMs: number
}

/** A port of a server, or of a router. */
export interface FakePort {
  readonly id: string
  /** The id of the server or the router. */
  readonly device: string
  /** `compute:nova` for servers. */
  readonly deviceOwner: string
  readonly network: string
  readonly fixedIPs: readonly { readonly subnet: string; readonly address: string }[]
}

/** A router, with the subnets that it has interfaces in. */
export interface FakeRouter {
  readonly id: string
  /** The network of its gateway; empty: none. */
  readonly gatewayNetwork: string
  readonly subnets: readonly string[]
}

/** Which floating IP was created or deleted, by a call or by the hand of an operator. */
export interface FakeAct {
  readonly id: string
  readonly address: string
  /** Empty: it had none at that time. */
  readonly marker: string
  readonly by: 'call' | 'hand'
  readonly atMs: number
}
