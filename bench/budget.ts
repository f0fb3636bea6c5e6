import { readFileSync } from 'node:fs'

/** bench/budget.json: the least peer time / our time, by row and peer. */
export interface Budget {
  /** Part of a floor that noise may take. */
  readonly slack: number
  readonly floors: { readonly [row: string]: number | { readonly [peer: string]: Floor } }
}

/** One for every Node, or one for each major version: a peer may be another thing there. For any other version the least of them. */
type Floor = number | { readonly [major: string]: number }

export function readBudget(): Budget {
  return JSON.parse(readFileSync(new URL('./budget.json', import.meta.url), 'utf8')) as Budget
}

/** The goal on this Node. A number for a row stands for each of its peers. */
export function goalOf(budget: Budget, row: string, peer: string): number | undefined {
  const entry = budget.floors[row]
  const floor = typeof entry === 'object' ? entry[peer] : entry
  if (typeof floor !== 'object') return floor
  return floor[process.versions.node.split('.')[0]!] ?? Math.min(...Object.values(floor))
}

/** Peers that the budget knows of a row. */
export function peersOf(budget: Budget, row: string): string[] {
  const entry = budget.floors[row]
  return typeof entry === 'object' ? Object.keys(entry) : []
}
