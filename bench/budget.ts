import { readFileSync } from 'node:fs'

/** bench/budget.json: what has to be reached. */
export interface Budget {
  /** Part of a goal that noise may take: a run fails below the rest. */
  readonly slack: number
  /** The least peer time / our time. */
  readonly goals: Goals
  /** The same, for peers in other languages. */
  readonly native: Goals
  /** What the calls of a store may take beside those of its client alone. */
  readonly stores: StoresBudget
  /** What the controller of docs/examples reaches on a real API server. */
  readonly controller: {
    readonly goals: Goals
    /** A run fails above it: no slack, since it does not depend on the moment. */
    readonly writesPerClaim: number
    /** Requests of Nodes by the controller that gives them subnets. */
    readonly requestsPerNode: { readonly patches: number; readonly reads: number }
  }
  /** What writers of blocks reach on a real API server. */
  readonly blocks: {
    readonly goals: Goals
    /** A run fails above it. */
    readonly requestsPerAllocation: number
    /** Of four controllers that bind claims: one of these has to be reached, by peer. */
    readonly fourProcesses: { readonly [peer: string]: number }
    /** A run fails above it, by what binds the claims. */
    readonly requestsPerClaim: { readonly [side: string]: number }
    readonly conflictsPerClaim: { readonly [side: string]: number }
  }
  /** What the IPAM plugin of docs/examples reaches on a real API server. */
  readonly cni: Goals
  readonly bytes: { readonly [what: string]: Bytes }
  /** Requests to an API server. */
  readonly requests: { readonly [what: string]: RequestGoal }
}

export interface Goals {
  readonly [work: string]: { readonly [peer: string]: PerNode | Shortfall | Noisy }
}

/** Our time divided by that of the client alone. */
interface StoresBudget {
  readonly overhead: number
  /** Where that is not reached yet: what is, by work and store. */
  readonly reached: { readonly [work: string]: { readonly [store: string]: StoreShortfall } }
}

interface StoreShortfall {
  readonly overhead: PerNode
  readonly note: string
}

/** What memory is held against. It does not depend on the moment: no slack. */
interface Bytes {
  readonly goal: number
  /** A run fails above it: a little more than what is reached. */
  readonly most: number
  /** Both are parts of what this other row takes. Left out: bytes. */
  readonly of?: string
}

/** A run fails above the goal: no slack, since it does not depend on the moment. */
interface RequestGoal {
  readonly goal: number
  /** What upstream sends, as recorded. */
  readonly upstream: number
}

/** A goal that is not reached yet. The gate holds what is reached today, and the page says so. */
interface Shortfall {
  readonly goal: PerNode
  /** For a Node that is not named here the goal itself counts. */
  readonly reached: PerNode
  readonly note: string
}

/** A goal beside a peer whose own time differs between runs by more than the slack of all others. */
interface Noisy {
  readonly goal: PerNode
  /** In place of that of the budget. */
  readonly slack: number
  readonly reason: string
}

/** One number, or one for each major version of Node where a peer is another thing there. */
type PerNode = number | { readonly [major: string]: number }

/** What a ratio is held against on this Node. */
export interface Target {
  readonly goal: number
  /** A run fails below it. */
  readonly floor: number
  readonly note?: string
}

export function readBudget(): Budget {
  return JSON.parse(readFileSync(new URL('./budget.json', import.meta.url), 'utf8')) as Budget
}

/** `undefined` if the peer is not in the budget. For a Node without a goal of its own it is the least. */
export function targetOf(goals: Goals, slack: number, work: string, peer: string): Target | undefined {
  const entry = goals[work]?.[peer]
  if (entry === undefined) return undefined
  if (isNoisy(entry)) {
    const wanted = onThisNode(entry.goal) ?? leastOf(entry.goal)
    return { goal: wanted, floor: wanted * (1 - entry.slack) }
  }
  const { goal, reached, note } = isShortfall(entry) ? entry : { goal: entry }
  const wanted = onThisNode(goal) ?? leastOf(goal)
  const held = reached === undefined ? undefined : onThisNode(reached)
  if (held === undefined) return { goal: wanted, floor: wanted * (1 - slack) }
  return { goal: wanted, floor: held * (1 - slack), note: note! }
}

/** The goals of stores, as ratios like all others. */
export function storeGoals(
  { overhead, reached }: StoresBudget,
  works: readonly string[],
  stores: readonly string[],
): Goals {
  const goal = 1 / overhead
  const goalOf = (work: string, store: string): Shortfall | number => {
    const shortfall = reached[work]?.[store]
    return shortfall === undefined ? goal : { goal, reached: inverse(shortfall.overhead), note: shortfall.note }
  }
  return Object.fromEntries(
    works.map((work) => [work, Object.fromEntries(stores.map((store) => [store, goalOf(work, store)]))]),
  )
}

function inverse(value: PerNode): PerNode {
  if (typeof value === 'number') return 1 / value
  return Object.fromEntries(Object.entries(value).map(([major, overhead]) => [major, 1 / overhead]))
}

function onThisNode(value: PerNode): number | undefined {
  return typeof value === 'number' ? value : value[process.versions.node.split('.')[0]!]
}

function leastOf(value: PerNode): number {
  return typeof value === 'number' ? value : Math.min(...Object.values(value))
}

function isNoisy(entry: PerNode | Shortfall | Noisy): entry is Noisy {
  return typeof entry === 'object' && 'reason' in entry
}

function isShortfall(entry: PerNode | Shortfall): entry is Shortfall {
  return typeof entry === 'object' && 'note' in entry
}
