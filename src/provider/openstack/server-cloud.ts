import type { Json } from '../../crd/meta/object.js'
import type { ExternalResult } from '../../plan/index.js'

/** A port of a server. */
export interface ServerPort {
  readonly id: string
  /** Its fixed addresses, each with the id of its subnet. */
  readonly fixedIPs: readonly { readonly subnet: string; readonly address: string }[]
}

/** A router that connects subnets with an external network. */
export interface RouterLinks {
  readonly id: string
  /** The network of its gateway; left out: it has none. */
  readonly gatewayNetwork?: string | undefined
  readonly subnets: readonly string[]
}

/** A floating IP with the fields that servers use. */
export interface FloatingIP {
  readonly id: string
  readonly address: string
  readonly network: string
  /** The port that it is attached to; empty: none. */
  readonly port: string
  /**
   * The revision of the port or of the floating IP when it was read: a change requires exactly this
   * revision.
   */
  readonly revision?: number | undefined
}

/** One server in the cloud, with the floating IPs that have the address that it wants. */
export interface ServerNetwork {
  /** All addresses that the server shows, floating ones included. */
  readonly addresses: readonly string[]
  readonly ports: readonly ServerPort[]
  readonly routers: readonly RouterLinks[]
  /** Several: networks can have the same addresses. */
  readonly floatingIPs: readonly FloatingIP[]
}

/**
 * The interface of a cloud for servers. Each method returns a result and does not throw. `access`
 * is `identityRef` of the server and its namespace.
 */
export interface ServerCloud {
  /** The present state. `server` is the id of the server in the cloud. */
  describeServer(input: {
    readonly access: Json
    readonly server: string
    readonly address: string
  }): Promise<ExternalResult<ServerNetwork>>
  /**
   * Attaches a floating IP to a port, if it still has the revision that was read. `fixedAddress` is
   * the address of the port that it is for: a port can have several.
   */
  attachFloatingIP(input: {
    readonly access: Json
    readonly id: string
    readonly port: string
    readonly fixedAddress: string
    readonly revision: number | null
  }): Promise<ExternalResult<Json>>
  /**
   * Detaches it from a port. A floating IP that is not attached to that port, or that does not
   * exist, counts as detached.
   */
  detachFloatingIP(input: {
    readonly access: Json
    readonly id: string
    readonly port: string
  }): Promise<ExternalResult<Json>>
}
