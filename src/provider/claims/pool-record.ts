import type { KubeObject } from '../../crd/meta/object.js'
import { ClaimsByAge } from './claims-by-age.js'
import type { ClaimLedger } from './definition.js'

/** The state of a pool, also of one that claims or addresses name before it exists. */
export class PoolRecord {
  readonly ledger: ClaimLedger<KubeObject>
  /** The uid of the pool when it was planned last. */
  planned: string | undefined
  /** Keys of the claims that wait for a free address. */
  readonly exhausted = new ClaimsByAge()
  /** Keys of the claims that wait no more since the pool was planned. */
  readonly left = new Set<string>()
  /** Why the store has refused a write of the pool, until the pool changes. */
  refused: string | undefined

  constructor(ledger: ClaimLedger<KubeObject>) {
    this.ledger = ledger
  }
}
