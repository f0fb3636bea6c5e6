import { subdomainProblem } from '../../../crd/meta/names.js'
import { check } from '../../../errors/check.js'
import type { WhereaboutsConfig } from '../../whereabouts/config/types.js'
import { CONFIG, namespace, orEmpty, textThat } from '../../whereabouts/tasks/request.js'

const MOST_HOLDER = 253
const PRINTABLE = /* @__PURE__ */ /^[ -~]*$/u

const isHolder = (text: string) => text.length <= MOST_HOLDER && PRINTABLE.test(text)

/** The pool of whereabouts that a task of an upgrade is for. */
export interface UpgradeRequest {
  /** Its name. */
  readonly pool: string
  /** The namespace of the objects of whereabouts. Empty or left out: `kube-system`. */
  readonly namespace?: string | undefined
  /**
   * The networks of all definitions with the IPAM type `whereabouts`, and of those whose pools are
   * upgraded and that have the type `ipam-kit` already: the `config` of `readBlockNetwork`.
   */
  readonly networks: readonly WhereaboutsConfig[]
  /**
   * The `holderIdentity` under which the upgrade holds the Lease of upstream. The same for all
   * tasks of an upgrade: up to 253 printable ASCII characters. Empty or left out:
   * `ipam-kit-upgrade`.
   */
  readonly leaseHolder?: string | undefined
}

/** The pool of whereabouts that `rollBack` takes back, and the phase that it gets. */
export interface RollBackRequest extends UpgradeRequest {
  /** The phase that the pool gets: `dual-write` after `blocks`, or `none` after `dual-write`. */
  readonly to: 'dual-write' | 'none'
}

const REQUEST = {
  pool: textThat('the name of an IPPool', (text) => subdomainProblem(text) === undefined),
  namespace: ['is?', orEmpty(namespace)],
  networks: ['list', CONFIG],
  leaseHolder: ['is?', textThat(`up to ${MOST_HOLDER} printable ASCII characters`, isHolder)],
} as const

/** @throws IpamError `INVALID_ARGUMENT` */
export function checkRequest(of: string, request: UpgradeRequest): void {
  check<unknown>(of, 'request', request, ['open', REQUEST])
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function checkRollBack(request: RollBackRequest): void {
  check<unknown>('rollBack', 'request', request, ['open', { ...REQUEST, to: ['one', { 'dual-write': 1, none: 1 }] }])
}
