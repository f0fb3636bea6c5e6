import { readFileSync } from 'node:fs'

/** bench/budget.json: what has to be reached. */
export interface Budget {
  /** Part of a goal that noise may take: a run fails below the rest. */
  readonly slack: number
  /** The least peer time / our time. */
  readonly goals: Goals
  /** The same, for peers in other languages. */
  readonly native: Goals
  readonly bytes: { readonly [what: string]: Bytes }
}

export interface Goals {
  readonly [work: string]: { readonly [peer: string]: PerNode | Shortfall }
}

/** What memory is held against. It does not depend on the moment: no slack. */
interface Bytes {
  readonly goal: number
  /** A run fails above it: a little more than what is reached. */
  readonly most: number
}

/** A goal that is not reached yet. The gate holds what is reached today, and the page says so. */
interface Shortfall {
  readonly goal: PerNode
  /** For a Node that is not named here the goal itself counts. */
  readonly reached: PerNode
  readonly note: string
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
  const { goal, reached, note } = isShortfall(entry) ? entry : { goal: entry }
  const wanted = onThisNode(goal) ?? Math.min(...Object.values(goal))
  const held = reached === undefined ? undefined : onThisNode(reached)
  if (held === undefined) return { goal: wanted, floor: wanted * (1 - slack) }
  return { goal: wanted, floor: held * (1 - slack), note: note! }
}

function onThisNode(value: PerNode): number | undefined {
  return typeof value === 'number' ? value : value[process.versions.node.split('.')[0]!]
}

function isShortfall(entry: PerNode | Shortfall): entry is Shortfall {
  return typeof entry === 'object' && 'note' in entry
}
