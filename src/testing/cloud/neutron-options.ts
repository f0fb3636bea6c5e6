import type { KindOf } from '../../errors/check.js'
/** A user of a fake cloud. */
export interface FakeUser {
  readonly name: string
  readonly password: string
  /** The name and the id of its project. */
  readonly project: string
  /** Whether it sees the floating IPs of all projects. Default false. */
  readonly isAdmin?: boolean | undefined
  readonly applicationCredential?: { readonly id: string; readonly secret: string } | undefined
}

export interface NeutronHandlerOptions {
  readonly users: readonly FakeUser[]
  /**
   * What the catalog says of Neutron, and what `auth_url` begins with. Default
   * `http://openstack.test`.
   */
  readonly url?: string | undefined
  /** How long tokens are valid. Default 3600. */
  readonly tokenSeconds?: number | undefined
  /** Default `RegionOne`. */
  readonly region?: string | undefined
  /** A page has no more elements. Default 1000. */
  readonly maxPageSize?: number | undefined
  /** Whether users see the subnets of external networks. Default true. */
  readonly showsSubnets?: boolean | undefined
}

export const NEUTRON_HANDLER_OPTIONS: KindOf<NeutronHandlerOptions> = {
  users: ['list', 'object'],
  url: 'text?',
  tokenSeconds: 'number?',
  region: 'text?',
  maxPageSize: 'number?',
  showsSubnets: 'flag?',
}
