import type { KindInfo } from 'ipam-kit/crd/meta'
import { explain, type Outcome, type Task } from 'ipam-kit/plan'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { FlagError, type FlagOptions } from '../program/flags.js'

/**
 * - 0: done
 * - 1: the store cannot be reached or refuses a request
 * - 2: wrong flags
 * - 3: the state of the cluster does not allow it
 * - 4: it has to be run again: another writer was faster, or pools were created
 */
export type Exit = 0 | 1 | 2 | 3 | 4

/** Where a command works. */
export interface Place {
  readonly store: Store
  /** Of the objects of whereabouts. */
  readonly namespace: string
  /** Whether the cluster has the kinds of blocks. */
  readonly hasBlocks: boolean
  print(text: string): void
  now(): number
}

type Values = { readonly [flag: string]: unknown }

export interface Command {
  readonly flags: FlagOptions
  /** What it asks the store for. */
  kinds(hasBlocks: boolean): readonly KindInfo[]
  /**
   * Reads a command line.
   *
   * @param words those before the first flag
   * @throws FlagError
   */
  read(words: readonly string[], values: Values): (place: Place) => Promise<Exit>
}

/** A flag with a text; `undefined`: it is not given. */
export function textOf(values: Values, flag: string): string | undefined {
  const value = values[flag]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** @throws FlagError if there is another number of words than `names` */
export function wordsOf(command: string, words: readonly string[], names: readonly string[]): readonly string[] {
  if (words.length === names.length) return words
  throw new FlagError(`usage: ${[command, ...names].join(' ')} [--FLAG ...]`)
}

/** Runs a task, and prints each plan before it is written. */
export async function runShown<O extends Outcome>(
  task: Task<O>,
  { store, print, now }: Place,
): Promise<{ readonly outcome: O } | { readonly exit: Exit }> {
  const result = await runTask(task, store, {
    now,
    onStep: (step) => {
      if (step.kind === 'write') print(explain(step.plan))
    },
  })
  if (result.kind === 'done') return { outcome: result.outcome }
  print(result.failure.message)
  const isSlow = result.kind === 'unsettled' || result.failure.code === 'STORE_CONFLICT'
  return { exit: isSlow ? 4 : 1 }
}
