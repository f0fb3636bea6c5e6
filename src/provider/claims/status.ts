import {
  type ClaimEvent,
  type ClaimState,
  type Condition,
  type ConditionUpdate,
  findCondition,
  type NotReadyReason,
  setCondition,
  stateOf,
  transition,
} from '../../claim/index.js'
import type { IPAddressClaim, IPAddressClaimStatus } from '../../crd/cluster-api/ip-address-claim.js'
import { READY_CONDITION } from '../../crd/cluster-api/names.js'
import type { KubeObject } from '../../crd/meta/object.js'
import type { PlanTime } from '../../plan/index.js'

/** Where events have led a claim: its new state, the status to write, and whether it has to be tried again by time. */
export interface Progress {
  readonly state: ClaimState
  readonly status: IPAddressClaimStatus | undefined
  readonly retryLater: boolean
}

/** Starts from what the status of a claim says. */
export function startOf(claim: IPAddressClaim): Progress {
  return { state: stateOf(claim), status: claim.status, retryLater: false }
}

/** Takes the claim machine one event further and does to the status what it says. */
export function advance(
  from: Progress,
  event: ClaimEvent,
  claim: IPAddressClaim,
  details: { readonly message: string; readonly now: string },
): Progress {
  const [state, effects] = transition(from.state, event)
  let { status } = from
  let retryLater = false
  for (const effect of effects) {
    switch (effect) {
      case 'setAddressRef':
        if (status?.addressRef?.name !== claim.metadata.name)
          status = { ...status, addressRef: { name: claim.metadata.name } }
        break
      case 'clearAddressRef': {
        const { addressRef: _, ...rest } = status ?? {}
        status = rest
        break
      }
      case 'setReady':
        status = withReady(status, claim, { status: 'True', reason: 'AddressAllocated', message: '' }, details.now)
        break
      case 'setNotReady': {
        const reason = ('reason' in state ? state.reason : undefined) as NotReadyReason
        status = withReady(status, claim, { status: 'False', reason, message: details.message }, details.now)
        break
      }
      case 'retryLater':
        retryLater = true
        break
      case 'retryOnPoolChange':
        break
    }
  }
  return { state, status, retryLater }
}

/**
 * The merge patch from one status to another; `undefined` if nothing changes. Conditions are a list, and so written whole: the write
 * needs a precondition.
 */
export function statusPatch(
  before: IPAddressClaimStatus | undefined,
  after: IPAddressClaimStatus | undefined,
): { readonly status: { readonly [field: string]: unknown } } | undefined {
  const patch: { [field: string]: unknown } = {}
  if (before?.addressRef?.name !== after?.addressRef?.name) patch.addressRef = after?.addressRef ?? null
  if (before?.conditions !== after?.conditions) patch.conditions = after?.conditions ?? null
  return Object.keys(patch).length === 0 ? undefined : { status: patch }
}

/** Whether a claim has its address, as its status says it: its consumer may have read it. */
export function isBound(claim: IPAddressClaim): boolean {
  return stateOf(claim).phase === 'Bound'
}

/** The condition of a claim that shares its address with another IPAddress, or has. */
export const ADDRESS_UNIQUE_CONDITION = 'AddressUnique'

/** Whether a claim says that another IPAddress has its address. */
export function saysItIsShared({ status }: IPAddressClaim): boolean {
  return findCondition(status?.conditions, ADDRESS_UNIQUE_CONDITION)?.status === 'False'
}

/** The status of a claim that says whether its address is its own: nothing of it where it has never been otherwise. */
export function withUniqueness(
  status: IPAddressClaimStatus | undefined,
  claim: IPAddressClaim,
  duplicate: string | undefined,
  now: string,
): IPAddressClaimStatus | undefined {
  const before = status?.conditions?.find(({ type }) => type === ADDRESS_UNIQUE_CONDITION)
  if (duplicate === undefined && before?.status !== 'False') return status
  const update =
    duplicate === undefined
      ? ({ status: 'True', reason: 'Unique', message: '' } as const)
      : ({ status: 'False', reason: 'DuplicateAddress', message: duplicate } as const)
  return withCondition(status, claim, { type: ADDRESS_UNIQUE_CONDITION, ...update }, now)
}

/** The status of a claim that is being deleted and can not go, and why: whatever else it says stays. */
export function stuck(claim: IPAddressClaim, message: string, now: string): IPAddressClaimStatus {
  return withReady(claim.status, claim, { status: 'False', reason: 'AllocationFailed', message }, now)
}

function withReady(
  status: IPAddressClaimStatus | undefined,
  claim: IPAddressClaim,
  update: Pick<Condition, 'status' | 'reason' | 'message'>,
  now: string,
): IPAddressClaimStatus {
  return withCondition(status, claim, { type: READY_CONDITION, ...update }, now)
}

function withCondition(
  status: IPAddressClaimStatus | undefined,
  claim: IPAddressClaim,
  update: ConditionUpdate,
  now: string,
): IPAddressClaimStatus {
  const { generation } = claim.metadata
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  const conditions = setCondition(status?.conditions, { ...update, ...observed }, now)
  return conditions === status?.conditions ? (status as IPAddressClaimStatus) : { ...status, conditions }
}

/** A moment as the API writes it: RFC 3339, whole seconds. */
export function timeText({ nowMs }: PlanTime): string {
  return `${new Date(nowMs).toISOString().slice(0, -5)}Z`
}

/**
 * The conditions of a pool with some of them set, as of a time and of the generation that it has; the same list if nothing changes.
 */
export function withConditions(
  {
    metadata,
    status,
  }: KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] | undefined } | undefined },
  updates: readonly ConditionUpdate[],
  time: PlanTime,
): readonly Condition[] | undefined {
  const now = timeText(time)
  const { generation } = metadata
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  let conditions = status?.conditions
  for (const update of updates) conditions = setCondition(conditions, { ...update, ...observed }, now)
  return conditions
}
