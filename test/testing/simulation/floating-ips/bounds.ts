/** The options of the library in the world, in seconds. */
export const CALL_SECONDS = 20
export const LIST_LAG_SECONDS = 5
/** The guide: `--list-seconds`. Shorter than its default, so that a schedule is short. */
export const LIST_SECONDS = 120
/** The guide: how often a pool is listed while claims wait, and at most. */
export const WAITING_LIST_SECONDS = 60
export const LEAST_LIST_SECONDS = 30

/** How often a server looks whether it still has its address. */
export const CHECK_SECONDS = 120

export const LEASE_SECONDS = 15
export const RENEW_SECONDS = 10
export const RETRY_SECONDS = 3

/** How late a watch is at most. */
export const WATCH_LAG_SECONDS = 8
/** How long a call to the store takes at most, its late effects included. */
export const STORE_SECONDS = 10

/** After a call, no effect of it can come: twice the call, and the lag of a list that shows it. */
const FENCE_SECONDS = 2 * CALL_SECONDS + LIST_LAG_SECONDS

/**
 * What a leader may have planned with before its plan is carried out: the watch, and a few writes.
 */
export const PLAN_SECONDS = 5

// Each of the following counts only while a process leads and runs, and begins anew when the
// leader changes.

/** How long two IPAddress objects may have one address. */
export const REPAIR_SECONDS = 120
/** How long a claim may wait while its pool can serve it, and no fault happens. */
export const SERVE_SECONDS = FENCE_SECONDS + 2 * WAITING_LIST_SECONDS + 75
/** How long an address that a call has created may be in no list while no fault happens. */
export const LEAK_SECONDS = FENCE_SECONDS + LIST_SECONDS + 2 * WAITING_LIST_SECONDS + 15
/** How long a server with an instance may wait until its address is attached. */
export const ATTACH_SECONDS = SERVE_SECONDS + CHECK_SECONDS

/**
 * How long the world leaves the processes alone before it looks at rest: what one list shows can
 * lead to something that only the next one shows.
 */
export const QUIET_SECONDS = LEAK_SECONDS + 2 * LIST_SECONDS
/** How long it looks at rest. */
export const REST_SECONDS = 3 * LIST_SECONDS
