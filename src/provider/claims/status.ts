import type { Condition, ConditionUpdate } from '../../claim/conditions.js'
import { findCondition, phaseOf, setCondition } from '../../claim/index.js'
import type { NotReadyReason, ReadyReason } from '../../claim/state.js'
import type { IPAddressClaim, IPAddressClaimStatus } from '../../crd/cluster-api/ip-address-claim.js'
import { READY_CONDITION } from '../../crd/cluster-api/names.js'
import type { KubeObject } from '../../crd/meta/object.js'
import type { PlanTime } from '../../plan/index.js'

/**
 * The merge patch from one status to another; `undefined` if nothing changes. Conditions are a list
 * and are written whole, so the write needs a precondition.
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

/** Whether a claim has its address by its status: its consumer may have read it. */
export function isBound(claim: IPAddressClaim): boolean {
  return phaseOf(claim) === 'Bound'
}

/** The condition of a claim that shares or has shared its address with another IPAddress. */
export const ADDRESS_UNIQUE_CONDITION = 'AddressUnique'

/** Whether the status of a claim says that another IPAddress has its address. */
export function saysItIsShared({ status }: IPAddressClaim): boolean {
  return findCondition(status?.conditions, ADDRESS_UNIQUE_CONDITION)?.status === 'False'
}

/** What the condition AddressUnique says of another IPAddress, `namespace/name`. */
export function sharedText(address: string, other: string): string {
  return `${address} is also that of ${other}`
}

/**
 * The one of others with the address of a claim that its condition AddressUnique names: the same as
 * before while that one has the address, else the first by name. So a condition is written once,
 * however many others come and go. O(others).
 */
export function namedOther(claim: IPAddressClaim, address: string, others: readonly string[]): string | undefined {
  const before = findCondition(claim.status?.conditions, ADDRESS_UNIQUE_CONDITION)
  const isNamed = (other: string) => before?.status === 'False' && before.message === sharedText(address, other)
  return others.find(isNamed) ?? others.reduce<string | undefined>((first, other) => smaller(first, other), undefined)
}

function smaller(left: string | undefined, right: string): string {
  return left === undefined || right < left ? right : left
}

/**
 * The status of a claim with the condition AddressUnique; without it if the address was never
 * shared.
 */
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

/** The status of a claim with its condition Ready. */
export function withReady(
  status: IPAddressClaimStatus | undefined,
  claim: IPAddressClaim,
  reason: NotReadyReason | ReadyReason,
  message: string,
  now: string,
): IPAddressClaimStatus {
  const isReady = reason === 'AddressAllocated'
  return withCondition(
    status,
    claim,
    { type: READY_CONDITION, status: isReady ? 'True' : 'False', reason, message },
    now,
  )
}

function withCondition(
  status: IPAddressClaimStatus | undefined,
  claim: IPAddressClaim,
  update: ConditionUpdate,
  now: string,
): IPAddressClaimStatus {
  const conditions = conditionsWith(status?.conditions, claim, [update], now)
  return conditions === status?.conditions ? (status as IPAddressClaimStatus) : { ...status, conditions }
}

/** A time as the API writes it: RFC 3339, whole seconds. */
export function timeText({ nowMs }: PlanTime): string {
  return `${new Date(nowMs).toISOString().slice(0, -5)}Z`
}

/**
 * The conditions of a pool with some of them set, for its generation and a time; the same list if
 * nothing changes.
 */
export function withConditions(
  object: KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] | undefined } | undefined },
  updates: readonly ConditionUpdate[],
  time: PlanTime,
): readonly Condition[] | undefined {
  return conditionsWith(object.status?.conditions, object, updates, timeText(time))
}

function conditionsWith(
  before: readonly Condition[] | undefined,
  { metadata: { generation } }: KubeObject,
  updates: readonly ConditionUpdate[],
  now: string,
): readonly Condition[] | undefined {
  const observed = generation === undefined ? {} : { observedGeneration: generation }
  return updates.reduce((list, update) => setCondition(list, { ...update, ...observed }, now), before)
}
