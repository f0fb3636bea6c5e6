import type { CloudOperation } from '../../provider/external/cloud.js'
import type { ServerCloud } from '../../provider/openstack/index.js'

/**
 * What a {@link FakeCloud} counts calls by, and what troubles are for. The last three are requests
 * that only Neutron's API knows.
 */
export type FakeOperation = CloudOperation | keyof ServerCloud | 'showAddress' | 'tagAddress' | 'authenticate'

/** What goes wrong with a call. */
export interface CloudTrouble {
  readonly kind: CloudTroubleKind
  /**
   * `late`: when the call is done after it was sent, 0 to 60, default 30. `rateLimited` and
   * `unavailable`: when to ask again, default 5. Otherwise not used.
   */
  readonly seconds?: number | undefined
}

export type CloudTroubleKind =
  /** It does not arrive: nothing is done. */
  | 'down'
  /** It is done, and the answer does not arrive. */
  | 'lostAnswer'
  /** The answer is that it took too long, and it is done later. */
  | 'late'
  /** Refused: the quota of the project is used up. */
  | 'quota'
  /** Refused: no permission. */
  | 'denied'
  /** Refused: too many calls. */
  | 'rateLimited'
  /** Refused: the service is not available. */
  | 'unavailable'
  /**
   * A defect of the cloud: the call that creates gives the address that was created last once more,
   * with an id of its own.
   */
  | 'sameAddress'
  /** A defect of the cloud: the call that creates gives an address outside of the network. */
  | 'otherNetwork'
  /** A defect of the cloud: the call that creates stores no description, so no marker. */
  | 'noMarker'

/** Why a {@link FakeCloud} has not done a call, or why its answer did not arrive. */
export class FakeCloudError extends Error {
  readonly code: FakeCloudErrorCode
  readonly retryAfterSeconds: number | undefined

  constructor(code: FakeCloudErrorCode, message: string, retryAfterSeconds?: number) {
    super(message)
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}

export type FakeCloudErrorCode =
  | 'noAnswer'
  | 'quota'
  | 'networkFull'
  | 'denied'
  | 'rateLimited'
  | 'unavailable'
  | 'notFound'
  | 'networkNotFound'
  | 'inUse'
  | 'attached'
  | 'outside'
  | 'revision'
  | 'invalid'

/** The error that a trouble of these kinds is answered with, without anything done. */
export function refusalOf({ kind, seconds = 5 }: CloudTrouble): FakeCloudError | undefined {
  switch (kind) {
    case 'down':
      return new FakeCloudError('noAnswer', 'connection refused')
    case 'quota':
      return new FakeCloudError('quota', "Quota exceeded for resources: ['floatingip']")
    case 'denied':
      return new FakeCloudError('denied', 'the policy of the cloud does not allow this')
    case 'rateLimited':
      return new FakeCloudError('rateLimited', 'too many requests', seconds)
    case 'unavailable':
      return new FakeCloudError('unavailable', 'the service is not available', seconds)
    default:
      return undefined
  }
}
